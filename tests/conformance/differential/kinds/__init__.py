"""The kinds of cases, in the order in which `run.py all` runs them.

Job: for each kind, generate a case, compare the two sides on it, and say what may be shrunk.
A kind is a class with the members of `Kind` in `base.py`; a new kind is a new module and one line here.
"""

from .convert import Convert
from .count import Count
from .decode import Decode
from .edit import Edit
from .encode import Encode
from .extend import Extend
from .inspect import Inspect
from .load import Load
from .normalize import Normalize
from .train import Train

KINDS = {kind.name: kind for kind in [Train(), Encode(), Decode(), Normalize(), Load(), Inspect(), Edit(), Extend(), Count(), Convert()]}

# The kinds that need nothing but the wheel of the reference.
DEFAULT_KINDS = [name for name, kind in KINDS.items() if not kind.needs_transformers]
