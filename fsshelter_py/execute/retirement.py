"""How the tasks and threads of one process end, and which threads are left behind.

Thread contract. One thread at a time, the one that stops the runtime, or a worker's postman. Executors answer in their
threads; a spout whose executor does not answer is abandoned in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from fsshelter_py.execute.executor import Executor
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.task import Task
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.message import Deactivate

__all__ = ["Retirement"]

_GRACE_SECS = 0.5
"""How long threads may take to end, and the handlers of spouts that are given up."""


class Retirement:
    """The end of one process's tasks, and the threads that it leaves behind."""

    def __init__(
        self, tasks: Mapping[TaskId, Task], executor_of: Mapping[TaskId, Executor], *, has_threads: bool
    ) -> None:
        self._tasks = tasks
        self._executor_of = executor_of
        self._executors = list(dict.fromkeys(executor_of.values()))
        self._has_threads = has_threads
        self._stuck: set[Executor] = set()

    def deactivate(self, task_ids: Sequence[TaskId], deactivated: Callable[[TaskId], None]) -> None:
        """Deactivate tasks, each after what its channel holds; ``deactivated`` when it is done."""
        for task_id in task_ids:
            channel = self._tasks[task_id].channel
            if channel is not None:
                channel.put(Deactivate(partial(deactivated, task_id)))

    def is_gone(self, task_id: TaskId) -> bool:
        """Whether nothing is to be hoped of the task's executor."""
        executor = self._executor_of[task_id]
        return executor in self._stuck or executor.has_died or (self._has_threads and executor.thread is None)

    def abandon(self, task_ids: Sequence[TaskId]) -> None:
        """Give up tasks that do not answer, and nack what the spouts among them have unsettled.

        The spouts of an executor in a thread of their own, for their handlers may be what that is stuck in; all of them
        at once, so that together they get a grace, and each of them all of it.
        """
        by_executor: dict[Executor, list[SpoutTask]] = {}
        for task_id in task_ids:
            task, executor = self._tasks[task_id], self._executor_of[task_id]
            task.log.error("not_deactivated", executor=executor.name, dead=executor.has_died)
            self._stuck.add(executor)
            if isinstance(task, SpoutTask):
                by_executor.setdefault(executor, []).append(task)
        if not self._has_threads:
            _abandon(list(chain.from_iterable(by_executor.values())))
            return
        threads = [
            threading.Thread(target=_abandon, args=(spouts,), name=f"fsshelter:abandon-{spouts[0].id}", daemon=True)
            for spouts in by_executor.values()
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + _GRACE_SECS
        for thread, spouts in zip(threads, by_executor.values(), strict=True):
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                hint = "a nack handler or deactivate does not return: left behind"
                spouts[0].log.error("stuck_in_handler", hint=hint)

    def end_threads(self, log: Any) -> None:
        """Have every executor's thread end. One that is stuck in user code is left behind, and logged."""
        for executor in self._executors:
            executor.halt()
        until = time.monotonic() + _GRACE_SECS
        stuck = [e for e in self._executors if not e.join(0 if e in self._stuck else max(0, until - time.monotonic()))]
        if stuck:
            log.error("stuck_in_user_code", executors=[e.name for e in stuck])


def _abandon(spouts: Sequence[SpoutTask]) -> None:
    for spout in spouts:
        spout.abandon()
