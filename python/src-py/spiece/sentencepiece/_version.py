"""The release of the reference whose interface this is."""

__version__ = "0.2.3"
