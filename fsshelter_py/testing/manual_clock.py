"""A clock that moves only when told to."""

from __future__ import annotations

import threading

__all__ = ["ManualClock"]


class ManualClock:
    """A ``Clock`` for tests. Any thread may read it and move it.

    >>> clock = ManualClock()
    >>> clock.advance(2.5)
    >>> clock.now()
    2.5
    """

    def __init__(self, start: float = 0.0) -> None:
        """start: the moment it shows at first, in seconds."""
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> float:
        """The present moment, in seconds."""
        return self._now

    def advance(self, secs: float) -> None:
        """Move on by so many seconds. Raises ``ValueError`` for a negative number: clocks never run backwards."""
        if secs < 0:
            raise ValueError(f"a clock cannot be moved back; got {secs} seconds")
        with self._lock:
            self._now += secs
