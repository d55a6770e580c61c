"""When ticks are due: every period from a start, without drift. Pure: the caller tells the time."""

from __future__ import annotations

__all__ = ["TickSchedule"]


class TickSchedule:
    """Ticks at start + period, start + 2 * period, …, in seconds of the caller's clock.

    A caller that comes late is told of the last tick due only; ``number`` counts those it missed too.
    """

    __slots__ = ("number", "period", "start")

    def __init__(self, start: float, period: float) -> None:
        self.start = start
        self.period = period
        self.number = 0

    @property
    def due(self) -> float:
        """When the next tick is due."""
        return self.start + (self.number + 1) * self.period

    def take(self, now: float) -> bool:
        """Whether a tick is due by now; ``number`` is then that of the last one due."""
        if now < self.due:
            return False
        # The division may round up to a tick whose due time, as computed above, is still ahead.
        self.number = max(self.number + 1, int((now - self.start) / self.period) - 1)
        while self.due <= now:
            self.number += 1
        return True
