"""What an executor has to tell the ackers of the trees it worked on, gathered over a turn and sent once.

Belongs to one executor and is used by its thread only, except ``reset_timeout``, which any thread may call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.message import AckerUpdates, ResetTimeout
from fsshelter_py.model.outcome import NackReason

__all__ = ["Trees"]


class Trees:
    """Updates by acker; the acker of a tree is its anchor modulo their number.

    All of an acker's news goes through its channel, also from its own executor: what came to pass between two ticks
    then is heard of between them, however long user code kept the executor.
    """

    __slots__ = ("_parts", "_puts", "buckets", "enabled", "expire_here")

    def __init__(self, puts: Sequence[Callable[[Any], None]], buckets: int = 3, *, expire_here: bool = True) -> None:
        """puts: for each acker what puts a message in its channel.

        expire_here: whether a tree that no acker needs to know of, since it was done where it began, is expired if that
        took too long.
        """
        self._puts = tuple(puts)
        self.enabled = bool(self._puts)
        """Whether there is an acker at all; without one nothing is tracked."""
        self.buckets = buckets
        self.expire_here = expire_here
        self._parts = [AckerUpdates([], {}, [], {}) for _ in self._puts]

    def track(self, anchor: int, task_id: TaskId, xor: int, since: int, last: TaskId) -> None:
        """A source tuple was emitted, after ``since`` ticks; ``xor`` folds the ids of what it caused.

        last: the task that it, or what it caused, came to last.
        """
        parts = self._parts
        parts[anchor % len(parts)].tracks.append((anchor, task_id, xor, since, last))

    def ok(self, anchor: Any, xor: int, task_id: TaskId) -> None:
        """Something was done, or caused, in a tree or in several."""
        parts = self._parts
        for one in (anchor,) if type(anchor) is int else anchor:
            part = parts[one % len(parts)]
            oks = part.oks
            oks[one] = oks[one] ^ xor if one in oks else xor
            part.touched[one] = task_id

    def fail(self, anchor: Any, reason: NackReason) -> None:
        """A tree, or several, failed."""
        for one in (anchor,) if type(anchor) is int else anchor:
            self._parts[one % len(self._parts)].fails.append((one, reason))

    def flush(self) -> None:
        """Send what has gathered."""
        for index, part in enumerate(self._parts):
            if part.tracks or part.oks or part.fails:
                self._parts[index] = AckerUpdates([], {}, [], {})
                self._puts[index](part)

    def reset_timeout(self, anchor: Any) -> None:
        """Give a tree, or several, their time anew, at once."""
        for one in (anchor,) if type(anchor) is int else anchor:
            self._puts[one % len(self._puts)](ResetTimeout(one))
