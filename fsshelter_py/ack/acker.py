"""Settles source tuples: each acked once its whole tree is done, or nacked with the reason."""

from __future__ import annotations

import math
from collections import deque
from typing import Final, Literal

from fsshelter_py.ack.settled import Outcome, Settled
from fsshelter_py.ack.tree import Toucher, Tree
from fsshelter_py.errors import ConfError
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.outcome import NackReason

__all__ = ["Acker"]

_REMEMBERED: Final = 1024
"""Settled trees remembered in each bucket; see ``Acker`` for what that bounds."""


class Acker:
    """Follows tuple trees by XOR. No clock and no thread: the caller tells what happened, and ``tick``s once a period.

    Every call returns the ``Settled`` it caused, ``tick`` a list of them. A tree is complete when it is tracked, has
    seen an ``ok``, and its XOR is 0. The calls for a tree may come in any order, ``ok`` and ``fail`` before ``track``
    included: the outcome is then returned by ``track``. The algorithm is that of Storm's ``Acker``, with these rules:

    - A failure wins: an early ``fail`` nacks, whatever the XOR; the first reason given is kept.
    - A tree expires with the ``buckets``-th tick after its time started, so after more than ``buckets - 1`` periods.
      Its time starts with ``track``, and anew with ``reset_timeout``; with ``timeout_mode="progress"`` with each
      ``anchor`` and ``ok`` too. What came before the ``track`` takes nothing from it.
    - What is never tracked vanishes with the ``buckets``-th tick and is not reported: there is nobody to tell.
    - With ``capacity`` tracked trees unsettled, a further one that is not done already is nacked at once, as
      ``capacity``: a spout is told to hold on to its tuple rather than the acker growing without end.

    **After the end.** Late calls are common for a nacked tree, whose other branches go on; they do nothing, nor does a
    second ``track``. For that, anchors of settled trees are remembered until the buckets have rotated: without it, a
    late ``ok`` and a second ``track`` could meet and settle a tuple twice. To remember all of them would cost memory by
    the rate of tuples (80 MB a million, and there may be millions in a minute), so it is the last 1,024 a bucket, at
    most. A tree forgotten so soon still cannot settle again unless it is tracked again, and a spout takes a new anchor
    for each emit; its late calls leave an entry that vanishes like any untracked one.

    ``by`` names the component and task behind a call, so that the reason of an expired tree tells who had it last.

    Not safe for use by several threads at once.

    >>> acker = Acker()
    >>> acker.track(anchor=7, task=1, tuple_id="line 1", xor=0b01)
    >>> acker.ok(7, 0b01 ^ 0b10)  # the first delivery is done and has caused the second
    >>> acker.ok(7, 0b10)
    Settled(task=1, tuple_id='line 1', outcome='acked', reason=None)

    Raises ``ConfError`` for fewer than two buckets, a capacity below one or an unknown mode.
    """

    __slots__ = ("_buckets", "_capacity", "_generations", "_held", "_progress", "_settled", "_tick", "_trees")

    # Each tree tells when its time started, and a tick looks at all of them, instead of trees that move between the
    # buckets of a RotatingMap: one lookup a message for one pass over the unsettled trees each half timeout. For the
    # same reason what is settled is in one set, whatever bucket it is of.
    _trees: dict[int, Tree]
    # _held == how many of _trees are tracked; _held <= _capacity
    _held: int
    # disjoint from _trees
    _settled: set[int]
    # what is in _settled, each once, youngest last: one list for each bucket, of fewer than _REMEMBERED
    _generations: deque[list[int]]

    def __init__(
        self, buckets: int = 3, capacity: int | None = None, timeout_mode: Literal["emit", "progress"] = "emit"
    ) -> None:
        if capacity is not None and capacity < 1:
            raise ConfError([f"capacity: expected 1 or more, or None for no bound, got {capacity!r}"])
        if timeout_mode not in ("emit", "progress"):
            raise ConfError([f"timeout_mode: expected 'emit' or 'progress', got {timeout_mode!r}"])
        if buckets < 2:
            raise ConfError([f"buckets: expected 2 or more, got {buckets!r}"])
        self._settled = set()
        self._generations = deque([] for _ in range(buckets))
        self._buckets = buckets
        self._capacity = math.inf if capacity is None else capacity
        self._progress = timeout_mode == "progress"
        self._trees = {}
        self._held = 0
        self._tick = 0

    def track(
        self,
        anchor: int,
        task: TaskId,
        tuple_id: object,
        xor: int = 0,
        *,
        since: int | None = None,
        by: Toucher | None = None,
    ) -> Settled | None:
        """A source tuple was emitted by ``task``; ``xor`` folds the ids of the deliveries already made.

        since: how many ticks had passed when it was emitted, where that was some time ago; else it was just now.
            Where it was so long ago that the tree would have expired, it expires.
        Does nothing where the anchor is tracked already: which of two would be the right one cannot be known.
        """
        if since is None:
            since = self._tick
        tree = self._trees.get(anchor)
        if tree is None:
            if anchor in self._settled:
                return None
            tree = self._trees[anchor] = Tree(since, xor, by)
        elif tree.tracked:
            return None
        else:
            tree.since = since
            tree.xor ^= xor
            if tree.by is None:
                tree.by = by
        tree.tracked = True
        tree.task = task
        tree.tuple_id = tuple_id
        self._held += 1
        if tree.failure is not None:
            return self._settle(anchor, tree, "nacked", tree.failure)
        if tree.seen_ok and not tree.xor:
            return self._settle(anchor, tree, "acked")
        if self._held > self._capacity:
            return self._settle(anchor, tree, "nacked", NackReason("capacity"))
        if since <= self._tick - self._buckets:
            return self._expire(anchor, tree)
        return None

    def anchor(self, anchor: int, xor: int, *, by: Toucher | None = None) -> Settled | None:
        """Deliveries were added to the tree; ``xor`` folds their ids.

        It must not come after the ``ok`` of the delivery that caused them, or the tree may look done in between.
        """
        tree = self._trees.get(anchor) or self._early(anchor)
        if tree is None:
            return None
        tree.xor ^= xor
        if by is not None:
            tree.by = by
        if self._progress:
            tree.since = self._tick
        if tree.xor or not tree.seen_ok or not tree.tracked:
            return None
        return self._settle(anchor, tree, "acked")

    def ok(self, anchor: int, xor: int, *, by: Toucher | None = None) -> Settled | None:
        """A delivery is done; ``xor`` is its id, folded with the ids of those it caused."""
        tree = self._trees.get(anchor) or self._early(anchor)
        if tree is None:
            return None
        tree.xor ^= xor
        tree.seen_ok = True
        if by is not None:
            tree.by = by
        if self._progress:
            tree.since = self._tick
        if tree.xor or not tree.tracked:
            return None
        return self._settle(anchor, tree, "acked")

    def fail(self, anchor: int, reason: NackReason | None = None) -> Settled | None:
        """The tree failed: it is nacked at once, or by ``track``. No reason stands for ``NackReason("failed")``."""
        tree = self._trees.get(anchor) or self._early(anchor)
        if tree is None:
            return None
        if reason is None:
            reason = NackReason("failed")
        if tree.tracked:
            return self._settle(anchor, tree, "nacked", reason)
        if tree.failure is None:
            tree.failure = reason
        return None

    def reset_timeout(self, anchor: int) -> Settled | None:
        """The tree starts its time anew. It settles nothing; it returns what every call returns.

        Does nothing for a tree not heard of yet: ``track`` will start its time.
        """
        tree = self._trees.get(anchor)
        if tree is not None:
            tree.since = self._tick
        return None

    def tick(self, *, expire: bool = True) -> list[Settled]:
        """A period has passed: expire what started its time ``buckets`` ticks ago.

        expire: False leaves the trees that are tracked alone, for ever if need be, and only forgets the others.
        """
        self._tick += 1
        self._forget_oldest()
        due = self._tick - self._buckets
        settled = []
        for anchor, tree in [(anchor, tree) for anchor, tree in self._trees.items() if tree.since <= due]:
            if tree.tracked:
                if not expire:
                    continue
                settled.append(self._expire(anchor, tree))
            else:
                del self._trees[anchor]
        return settled

    def __len__(self) -> int:
        """How many trees are tracked and not settled."""
        return self._held

    def _early(self, anchor: int) -> Tree | None:
        """A tree for calls that came before ``track``; none where they came after the end."""
        if anchor in self._settled:
            return None
        tree = self._trees[anchor] = Tree(self._tick)
        return tree

    def _expire(self, anchor: int, tree: Tree) -> Settled:
        component, task_id = tree.by or (None, None)
        return self._settle(anchor, tree, "nacked", NackReason("timeout", component, task_id))

    def _settle(self, anchor: int, tree: Tree, outcome: Outcome, reason: NackReason | None = None) -> Settled:
        del self._trees[anchor]
        self._held -= 1
        self._settled.add(anchor)
        fresh = self._generations[-1]
        fresh.append(anchor)
        if len(fresh) == _REMEMBERED:
            self._forget_oldest()
        return Settled(tree.task, tree.tuple_id, outcome, reason)

    def _forget_oldest(self) -> None:
        self._settled.difference_update(self._generations.popleft())
        self._generations.append([])
