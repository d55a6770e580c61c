"""Nacked tuples, emitted again or given up. No thread, no clock, no I/O."""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

from fsshelter_py.model.outcome import DeadLetter, NackReason

__all__ = ["Key", "Replay"]

Key: TypeAlias = tuple[Any, ...]
"""``(partition, offset)`` or ``(batch, offset)``, then the id that ``tuple_id`` gives, then ``"dead"`` for a letter."""

_DEAD = "dead"


class Replay:
    """What a spout emits again: a nacked tuple, ``max_attempts`` times in all, then a dead letter as often.

    again: what to emit before anything new. It holds no more than was unsettled at once, since it is emitted first.
    """

    def __init__(self, max_attempts: int | None, log: Any, *, dead_letters: bool = True) -> None:
        """dead_letters: False gives a tuple up without one."""
        self._max_attempts = max_attempts
        self._log = log
        self._dead_letters = dead_letters
        self._attempts: dict[Key, int] = {}
        self.again: deque[tuple[Key, Any]] = deque()

    def ack(self, key: Key) -> None:
        """It is settled: forget how often it was emitted."""
        if self._attempts:
            self._attempts.pop(key, None)

    def nack(self, key: Key, tuple: Any, reason: NackReason) -> bool:
        """Emit it again, or a dead letter in its place; whether one of the two will be. Nothing is after a stop."""
        if reason.kind == "stopped":
            return True
        attempts = self._attempts.pop(key, 0) + 1
        if self._max_attempts is None or attempts < self._max_attempts:
            self._attempts[key] = attempts
            self.again.append((key, tuple))
            return True
        if key[-1] == _DEAD:
            self._log.error("dead_letter_lost", tuple_id=key, tuple=repr(tuple), reason=str(reason))
            return False
        self._log.error("dead_letter", tuple_id=key, tuple=repr(tuple), attempts=attempts, reason=str(reason))
        if self._dead_letters:
            self.again.append(((*key, _DEAD), DeadLetter(tuple, attempts, reason)))
        return self._dead_letters
