"""The native class, under the name that it has in tiktoken."""

from .._native import CoreBPE

__all__ = ["CoreBPE"]
