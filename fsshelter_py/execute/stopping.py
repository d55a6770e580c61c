"""How a runtime stops: what it waits for, for how long, and whom it gives up.

Thread contract. One thread at a time, the one that stops the runtime. Where there are threads, executors answer in
theirs; a task whose executor does not answer is abandoned in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from fsshelter_py.execute.executor import Executor
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.task import Task
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.message import Deactivate

__all__ = ["Stopping", "Wait"]

Wait: TypeAlias = Callable[[Callable[[], bool], float], bool]
"""``wait(is_done, until)``: wait until something is done, but not beyond a moment; whether it is."""

_GRACE_SECS = 0.5
"""How long tasks may take to answer once the time for draining is over."""
_LEAST_SECS = 0.1
"""How long a task may take to answer at least, when others have used that up."""


class Stopping:
    """One runtime's stop, and the threads that it leaves behind."""

    def __init__(
        self,
        executor_of: Mapping[TaskId, Executor],
        is_quiet: Callable[[], bool],
        changed: threading.Event,
        wait: Wait | None,
        now: Callable[[], float],
    ) -> None:
        """changed: set when something may have come to rest. wait: given, there are no threads, ``now`` is its."""
        self._executor_of = executor_of
        self._executors = list(dict.fromkeys(executor_of.values()))
        self._is_quiet = is_quiet
        self._changed = changed
        self._has_threads = wait is None
        self._wait = wait or self._wait_for_threads
        self._now = now
        self._stuck: set[Executor] = set()

    def drain(self, components: Iterable[Sequence[Task]], deadline: float, *, wait: bool) -> bool:
        """Deactivate bolts, a component after the other, with what each emits handled by the next ones.

        wait: False deactivates them at once, whatever is in flight. Returns whether nothing was in the end.
        """
        quiet = wait and self._wait_quiet(deadline)
        for tasks in components:
            self.deactivate(tasks, deadline)
            quiet = wait and self._wait_quiet(deadline)
        return quiet

    def deactivate(self, tasks: Sequence[Task], deadline: float) -> None:
        """Deactivate tasks and wait; those whose executor does not answer are given up.

        All of them together get no more than a grace, so an executor known to be stuck is not waited for again.
        """
        waiting = {task.id for task in tasks}

        def deactivated(task_id: TaskId) -> None:
            waiting.discard(task_id)
            self._changed.set()

        for task in tasks:
            if task.channel is not None:
                task.channel.put(Deactivate(partial(deactivated, task.id)))
        until = max(deadline + _GRACE_SECS, self._now() + _LEAST_SECS)
        self._wait(lambda: all(self._is_gone(self._executor_of[task_id]) for task_id in list(waiting)), until)
        spouts: dict[Executor, list[SpoutTask]] = {}
        for task in tasks:
            if task.id in waiting:
                executor = self._executor_of[task.id]
                task.log.error("not_deactivated", executor=executor.name, dead=executor.has_died)
                self._stuck.add(executor)
                if isinstance(task, SpoutTask):
                    spouts.setdefault(executor, []).append(task)
        self._abandon(list(spouts.values()))

    def end_threads(self, log: Any) -> None:
        """Have every executor's thread end. One that is stuck in user code is left behind, and logged."""
        for executor in self._executors:
            executor.halt()
        until = time.monotonic() + _GRACE_SECS
        stuck = [e for e in self._executors if not e.join(0 if e in self._stuck else max(0, until - time.monotonic()))]
        if stuck:
            log.error("stuck_in_user_code", executors=[e.name for e in stuck])

    def _wait_quiet(self, deadline: float) -> bool:
        self._wait(lambda: self._is_quiet() or any(e.failed or e.has_died for e in self._executors), deadline)
        return self._is_quiet()

    def _is_gone(self, executor: Executor) -> bool:
        """Whether nothing is to be hoped of it."""
        return executor in self._stuck or executor.has_died or (self._has_threads and executor.thread is None)

    def _abandon(self, spouts: Sequence[Sequence[SpoutTask]]) -> None:
        """Give spouts up, those of an executor in a thread of their own: their handlers may be what that is stuck in.

        All of them at once, so that together they get a grace, and each of them all of it.
        """
        if not self._has_threads:
            for spout in chain.from_iterable(spouts):
                spout.abandon()
            return

        def abandon(spouts: Sequence[SpoutTask]) -> None:
            for spout in spouts:
                spout.abandon()

        threads = [
            threading.Thread(target=abandon, args=(together,), name=f"fsshelter:abandon-{together[0].id}", daemon=True)
            for together in spouts
        ]
        for thread in threads:
            thread.start()
        until = self._now() + _GRACE_SECS
        for thread, together in zip(threads, spouts, strict=True):
            thread.join(max(0.0, until - self._now()))
            if thread.is_alive():
                hint = "a nack handler or deactivate does not return: left behind"
                together[0].log.error("stuck_in_handler", hint=hint)

    def _wait_for_threads(self, is_done: Callable[[], bool], until: float) -> bool:
        while not is_done():
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._changed.wait(min(left, 0.05))
            self._changed.clear()
        return True
