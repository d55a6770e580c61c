"""Whether and when a failed topology is started again. Pure: the caller tells how long it ran."""

from __future__ import annotations

__all__ = ["RestartPolicy"]


class RestartPolicy:
    """Exponential backoff, a few times in a row.

    attempts: restarts in a row so far. The n-th comes after ``min(2 ** n, max_backoff)`` seconds: 2, 4, 8, 16, 30.
    """

    __slots__ = ("attempts", "max_backoff_secs", "max_restarts", "reset_secs")

    def __init__(self, max_restarts: int, max_backoff_secs: float, reset_secs: float) -> None:
        """reset_secs: a run healthy for this long starts the count anew."""
        self.max_restarts = max_restarts
        self.max_backoff_secs = max_backoff_secs
        self.reset_secs = reset_secs
        self.attempts = 0

    def failed(self, ran_secs: float) -> None:
        """A run failed after so many healthy seconds."""
        if ran_secs >= self.reset_secs:
            self.attempts = 0
        self.attempts += 1

    @property
    def is_exhausted(self) -> bool:
        """Whether there is no restart any more."""
        return self.attempts > self.max_restarts

    @property
    def wait_secs(self) -> float:
        """Seconds to wait before the restart."""
        return min(2.0 ** min(self.attempts, 64), self.max_backoff_secs)
