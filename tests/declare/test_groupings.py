"""The groupings as they are written, and the records that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from fsshelter_py import All, Custom, Direct, Global, Group, Grouping, LocalOrShuffle, PartialKey, Shuffle
from fsshelter_py.model.grouping import GroupingKind


@dataclass(frozen=True)
class Word:
    word: str
    lang: str


def choose(word: Word, task_ids: Sequence[int]) -> int:
    return task_ids[0]


def key(word: Word) -> str:
    return word.word


@pytest.mark.parametrize(
    ("written", "record"),
    [
        (Shuffle.on(Word), Grouping(GroupingKind.SHUFFLE, Word)),
        (All.on(Word), Grouping(GroupingKind.ALL, Word)),
        (Direct.on(Word), Grouping(GroupingKind.DIRECT, Word)),
        (Global.on(Word), Grouping(GroupingKind.GLOBAL, Word)),
        (LocalOrShuffle.on(Word), Grouping(GroupingKind.LOCAL_OR_SHUFFLE, Word)),
        (Group.by(Word, "word", "lang"), Grouping(GroupingKind.FIELDS, Word, fields=("word", "lang"))),
        (Group.by(Word, key=key), Grouping(GroupingKind.FIELDS, Word, key=key)),
        (PartialKey.by(Word, "word"), Grouping(GroupingKind.PARTIAL_KEY, Word, fields=("word",))),
        (Custom.on(Word, choose), Grouping(GroupingKind.CUSTOM, Word, choose=choose)),
    ],
)
def test_each_grouping_gives_its_record(written: Grouping, record: Grouping) -> None:
    """Anchored, until it is said not to be."""
    assert written == record
    assert written.anchored
    assert not written.unanchored().anchored
