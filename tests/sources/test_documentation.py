"""The text that comes with Python."""

from __future__ import annotations

import sys

import pytest

from fsshelter_py.errors import SourceError
from fsshelter_py.sources import python_docs


def test_documentation_is_the_same_each_time() -> None:
    """Lines of text, in a fixed order, without their ends."""
    once = list(python_docs())
    assert once == list(python_docs())
    assert len(once) > 5_000
    assert not any("\n" in line for line in once)
    assert any("assert" in line for line in once)


def test_python_without_documentation_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to use instead."""
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(SourceError, match="give a text file instead"):
        python_docs()
