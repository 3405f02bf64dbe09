"""Makes ``spiece.sentencepiece`` what ``import sentencepiece`` finds in this process.

    import spiece.as_sentencepiece
    import sentencepiece  # is spiece.sentencepiece

Other packages that look for it with ``importlib.util.find_spec("sentencepiece")`` or
``importlib.metadata.version("sentencepiece")`` find it too. Import this module before
them. It replaces an installed ``sentencepiece`` for this process only.
"""

from ._import_as import register
from .sentencepiece import __version__

register("sentencepiece", __version__, {"sentencepiece": "spiece.sentencepiece"})
