"""Makes ``spiece.tokenizers`` what ``import tokenizers`` finds in this process.

    import spiece.as_tokenizers
    import tokenizers  # is spiece.tokenizers

Import this module before packages that use tokenizers, such as transformers. An installed package tokenizers gives the
components as objects; otherwise it is replaced for this process only.
"""

from ._import_as import register
from .tokenizers import __version__

register("tokenizers", __version__, {"tokenizers": "spiece.tokenizers"})
