"""Source tuples that failed and were not acked since."""

from __future__ import annotations

import threading
from typing import Any

from fsshelter_py.model.outcome import NackReason

__all__ = ["Unresolved"]

_REMEMBERED = 100_000


class Unresolved:
    """Counts, over all tasks and restarts of one spout, the tuple ids that were nacked and not acked later.

    A source that emits a nacked tuple again under the same id, and has it acked, has lost nothing. Remembers a bounded
    number of ids, so that memory stays flat; beyond that, and for ids that cannot be hashed, nacks are only counted.
    A replaying spout knows better: it counts what it gave up, and what a stop left unsettled, itself.

    Thread contract: any thread; the tasks of a spout are served by several executors. What is done to ``_ids`` is one
    operation of a set each time; ``_more`` is added to by all of them, which its lock guards.
    """

    def __init__(self, *, replaying: bool) -> None:
        self._replaying = replaying
        self._ids: set[Any] = set()
        self._more = 0
        self._adding = threading.Lock()
        self._began: frozenset[Any] = frozenset()
        """The ids it had as a copy for another process."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_adding"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _adding=threading.Lock())

    def copy(self) -> Unresolved:
        """For tasks of another process to go on with; ``merge`` then takes in what changed there."""
        copy = Unresolved(replaying=self._replaying)
        copy._began = frozenset(self._ids)
        copy._ids = set(self._ids)
        return copy

    def merge(self, copy: Unresolved) -> None:
        """Take in what was acked and nacked by way of a copy."""
        self._ids -= copy._began - copy._ids
        self._ids |= copy._ids - copy._began
        self.left(copy._more)

    def nacked(self, key: Any, reason: NackReason) -> None:
        """A tuple was nacked."""
        if self._replaying:
            if reason.kind == "stopped":
                self.left(1)
            return
        try:
            if len(self._ids) < _REMEMBERED or key in self._ids:
                self._ids.add(key)
                return
        except TypeError:
            pass
        self.left(1)

    def left(self, count: int) -> None:
        """So many tuples are lost beside those whose ids are kept, such as what still waited to be emitted again."""
        with self._adding:
            self._more += count

    def acked(self, key: Any) -> None:
        """A tuple was acked."""
        if self._ids:
            try:
                self._ids.discard(key)
            except TypeError:
                return

    def restarted(self) -> None:
        """A replaying spout reads its input anew: what the stop left unsettled comes again."""
        if self._replaying:
            self._more = 0

    def __len__(self) -> int:
        return len(self._ids) + self._more
