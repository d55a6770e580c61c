"""How a runtime stops: what it waits for, for how long, and whom it gives up.

Thread contract. One thread at a time, the one that stops the runtime; but ``deactivated`` may be called from any.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from fsshelter_py.model.ids import TaskId

__all__ = ["Part", "Stopping", "Wait"]

Wait: TypeAlias = Callable[[Callable[[], bool], float], bool]
"""``wait(is_done, until)``: wait until something is done, but not beyond a moment; whether it is."""

_GRACE_SECS = 0.5
"""How long tasks may take to answer once the time for draining is over."""
_LEAST_SECS = 0.1
"""How long a task may take to answer at least, when others have used that up."""


class Part(Protocol):
    """What a stop asks of the tasks of one process, this one or another."""

    def deactivate(self, task_ids: Sequence[TaskId]) -> None:
        """Deactivate tasks, each after what its channel holds; it is told of each."""
        ...

    def is_gone(self, task_id: TaskId) -> bool:
        """Whether the task will not answer any more."""
        ...

    def abandon(self, task_ids: Sequence[TaskId]) -> None:
        """Give tasks up that do not answer; what a spout has unsettled is nacked."""
        ...


class Stopping:
    """One runtime's stop, over all its parts."""

    def __init__(
        self,
        parts: Mapping[int, Part],
        worker_of: Mapping[TaskId, int],
        is_quiet: Callable[[], bool],
        forget: Callable[[], None],
        has_failed: Callable[[], bool],
        changed: threading.Event,
        wait: Wait | None,
        now: Callable[[], float],
    ) -> None:
        """parts: by worker. is_quiet: whether nothing is in flight, by what was learnt since ``forget``.

        changed: set when something may have come to rest. wait: given, ``now`` is its clock.
        """
        self._parts = parts
        self._worker_of = worker_of
        self._is_quiet = is_quiet
        self._forget = forget
        self._has_failed = has_failed
        self._changed = changed
        self._wait = wait or self._wait_for_threads
        self._now = now
        self._waiting: set[TaskId] = set()

    def drain(self, components: Iterable[Sequence[TaskId]], deadline: float, *, wait: bool) -> bool:
        """Deactivate bolts, a component after the other, with what each emits handled by the next ones.

        wait: False deactivates them at once, whatever is in flight. Returns whether nothing was in the end.
        """
        quiet = wait and self._wait_quiet(deadline)
        for task_ids in components:
            self.deactivate(task_ids, deadline)
            quiet = wait and self._wait_quiet(deadline)
        return quiet

    def deactivate(self, task_ids: Iterable[TaskId], deadline: float) -> None:
        """Deactivate tasks and wait; those that do not answer are given up.

        All of them together get no more than a grace, so what is known to be stuck is not waited for again.
        """
        by_worker: dict[int, list[TaskId]] = defaultdict(list)
        for task_id in task_ids:
            by_worker[self._worker_of[task_id]].append(task_id)
        self._waiting = {task_id for ids in by_worker.values() for task_id in ids}
        for worker, ids in by_worker.items():
            self._parts[worker].deactivate(ids)
        until = max(deadline + _GRACE_SECS, self._now() + _LEAST_SECS)
        self._wait(lambda: all(self._is_gone(task_id) for task_id in list(self._waiting)), until)
        for worker, ids in sorted(by_worker.items(), reverse=True):  # the others first: they do not keep this one
            if given_up := [task_id for task_id in ids if task_id in self._waiting]:
                self._parts[worker].abandon(given_up)

    def deactivated(self, task_id: TaskId) -> None:
        """A task has answered. Any thread."""
        self._waiting.discard(task_id)
        self._changed.set()

    def _is_gone(self, task_id: TaskId) -> bool:
        return self._parts[self._worker_of[task_id]].is_gone(task_id)

    def _wait_quiet(self, deadline: float) -> bool:
        self._forget()
        quiet = False

        def is_over() -> bool:
            nonlocal quiet
            quiet = self._is_quiet()
            return quiet or self._has_failed()

        self._wait(is_over, deadline)
        return quiet

    def _wait_for_threads(self, is_done: Callable[[], bool], until: float) -> bool:
        while not is_done():
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._changed.wait(min(left, 0.05))
            self._changed.clear()
        return True
