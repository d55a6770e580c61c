"""The examples in the docstrings of the testing helpers run."""

import doctest
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import fsshelter_py
from fsshelter_py import Bolt, Emit, Shuffle, Spout, Topology, testing, topology


@dataclass(frozen=True)
class Word:
    word: str


def handle(word: Word, emit: Emit[None]) -> None:
    """What the examples' bolts do."""


@topology("word-count")
def word_count():  # type: ignore[no-untyped-def]
    words = Spout.replaying(lambda ctx: [Word("to"), Word("be")])
    sink = Bolt.run(handle)
    yield words >> sink | Shuffle.on(Word)


@pytest.mark.parametrize("module", ["manual_clock", "list_spout", "collect_bolt", "harness"])
def test_docstring_examples_run(module: str) -> None:
    """Each shows what a user would write."""
    names: dict[str, Any] = {name: getattr(fsshelter_py, name) for name in fsshelter_py.__all__}
    names |= {name: getattr(testing, name) for name in testing.__all__}
    given: dict[str, type[Word] | Callable[..., Topology | None]] = {
        "Word": Word,
        "handle": handle,
        "word_count": word_count,
    }
    results = doctest.testmod(importlib.import_module(f"fsshelter_py.testing.{module}"), extraglobs=names | given)
    assert results.attempted > 0
    assert results.failed == 0
