"""Makes ``spiece.tiktoken`` what ``import tiktoken`` finds in this process.

    import spiece.as_tiktoken
    import tiktoken  # is spiece.tiktoken

Other packages that look for it with ``importlib.util.find_spec("tiktoken")`` or ``importlib.metadata.version("tiktoken")``
find it too, and ``tiktoken_ext.openai_public``. Import this module before them. It replaces an installed ``tiktoken`` for
this process only.
"""

import importlib.util
import sys
from types import ModuleType

from ._import_as import register
from .tiktoken import __version__

_MODULES = {"tiktoken": "spiece.tiktoken", "tiktoken_ext.openai_public": "spiece.tiktoken.openai_public"}

if importlib.util.find_spec("tiktoken_ext") is None:
    # The package of plugins is without a plugin.
    _package = ModuleType("tiktoken_ext")
    _package.__path__ = []
    sys.modules["tiktoken_ext"] = _package

register("tiktoken", __version__, _MODULES)
