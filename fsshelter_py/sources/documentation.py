"""A text of some size that is at hand wherever Python is: for examples and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from fsshelter_py.errors import SourceError

__all__ = ["python_docs"]


def python_docs() -> Iterator[str]:
    """The lines of the language reference that Python's ``help()`` shows, in the same order on each run.

    Raises ``SourceError`` where Python was installed without it.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise SourceError(
            "this Python was installed without its documentation (the module pydoc_data): give a text file instead"
        ) from error
    return (line for name in sorted(topics) for line in topics[name].split("\n"))
