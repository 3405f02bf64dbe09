"""The interface of the package ``tiktoken`` 0.14.0.

>>> import spiece.tiktoken as tiktoken
>>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
>>> pattern = r"\\w+|\\s+|[^\\w\\s]+"
>>> encoding = tiktoken.Encoding("small", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 258})
>>> encoding.encode("low<|end|>", allowed_special="all")
[257, 258]

``import spiece.as_tiktoken`` makes it what ``import tiktoken`` finds.
"""

from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

#: The release whose interface this is.
__version__ = "0.14.0"

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]
