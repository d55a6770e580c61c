"""Whether and when a failed topology is started again. Pure: the caller tells how long it ran."""

from __future__ import annotations

__all__ = ["RestartPolicy"]


class RestartPolicy:
    """Exponential backoff, a few times in a row.

    attempts: restarts in a row so far. The n-th comes after ``min(2 ** n, max_backoff)`` seconds: 2, 4, 8, 16, 30.

    A worker process that was killed is started again at once, and is not counted, if the run had acked something: that
    is no failure of the topology, and there is nothing to wait for; the run was healthy, so the count starts anew. One
    that dies before anything was acked may well die again, so that counts as any failure.
    """

    __slots__ = ("_at_once", "attempts", "max_backoff_secs", "max_restarts", "reset_secs")

    def __init__(self, max_restarts: int, max_backoff_secs: float, reset_secs: float) -> None:
        """reset_secs: a run healthy for this long starts the count anew."""
        self.max_restarts = max_restarts
        self.max_backoff_secs = max_backoff_secs
        self.reset_secs = reset_secs
        self.attempts = 0
        self._at_once = False

    def worker_died(self, *, acked: int, ran_secs: float) -> None:
        """A run ended by the death of a worker process, after so many acks."""
        if acked and self.max_restarts:
            self._at_once = True
            self.attempts = 0
        else:
            self.failed(ran_secs)

    def failed(self, ran_secs: float) -> None:
        """A run failed after so many healthy seconds."""
        self._at_once = False
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
        return 0.0 if self._at_once else min(2.0 ** min(self.attempts, 64), self.max_backoff_secs)
