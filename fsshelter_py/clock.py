"""The clock protocol: time is passed in, so that tests never sleep. Imports nothing of this package."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "MonotonicClock"]


class Clock(Protocol):
    """Seconds since some fixed moment, never running backwards."""

    def now(self) -> float:
        """The present moment, in seconds."""
        ...


class MonotonicClock:
    """The machine's monotonic clock."""

    now = staticmethod(time.monotonic)  # asked once a tuple: a method of our own would double what that costs
