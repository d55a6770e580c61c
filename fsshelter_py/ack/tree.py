"""What is known of one tuple tree that is not settled."""

from __future__ import annotations

from typing import TypeAlias

from fsshelter_py.model.ids import ComponentId, TaskId
from fsshelter_py.model.outcome import NackReason

__all__ = ["Toucher", "Tree"]

Toucher: TypeAlias = tuple[ComponentId, TaskId]
"""The component and the task that made progress on a tree."""


class Tree:
    """The deliveries of a source tuple, folded into one number however many they are.

    Every delivery's id enters ``xor`` twice, when it is made and when it is done, and so leaves nothing. Ids are
    random, 60 bits or more, so that a part of a tree's messages folds to 0 by chance only (Storm's argument).

    Complete: ``tracked and seen_ok and xor == 0``. The ``ok`` is asked for because a tree tracked with ``xor=0``
    has not begun, rather than ended.

    A class with slots and no record: the acker makes one for each source tuple and writes to it at each message.
    """

    __slots__ = ("by", "failure", "seen_ok", "since", "task", "tracked", "tuple_id", "xor")

    xor: int
    seen_ok: bool
    # not None only while not tracked: the failure of a tracked tree settles it at once
    failure: NackReason | None
    tracked: bool
    # both meaningful only where tracked
    task: TaskId
    tuple_id: object
    # the acker's tick count when the tree's time started; since <= the acker's count
    since: int
    by: Toucher | None

    def __init__(self, since: int, xor: int = 0, by: Toucher | None = None) -> None:
        self.since = since
        self.xor = xor
        self.by = by
        self.seen_ok = self.tracked = False
        self.failure = None
