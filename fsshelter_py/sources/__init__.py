"""Iterables to feed a spout with: the lines of a text file, and a text that every Python has.

May import: the public API; needs errors only.
"""

from fsshelter_py.sources.documentation import python_docs
from fsshelter_py.sources.text import lines

__all__ = ["lines", "python_docs"]
