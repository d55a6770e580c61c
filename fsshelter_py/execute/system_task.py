"""The system task: the runtime's timer and its watchman, on an executor of its own that user code never blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fsshelter_py.clock import Clock
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.tick_schedule import TickSchedule
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.message import SystemTick, TupleTick

if TYPE_CHECKING:
    from fsshelter_py.execute.executor import Executor
    from fsshelter_py.execute.flow import Flow

__all__ = ["SystemTask"]

_ROUNDING = 1e-6
"""Seconds that may be due to arithmetic."""


class SystemTask(Task):
    """Sends ticks, notices executors that died, and looks whether the input has ended.

    Ticks: the ackers and manual bolts get a system tick every half message timeout; each executor's count of them goes
    up once, however many tasks it has. The next one comes a period after the last, and not after the last was due: a
    tree that lives for two periods has then lived for a message timeout, however late ticks are. A bolt with
    ``tick_tuple_freq_secs`` gets tick tuples, at most one waiting; these do not drift.
    """

    __slots__ = (
        "_clock",
        "_executors",
        "_look",
        "_report",
        "_system_due",
        "_system_secs",
        "_system_tasks",
        "_tuple_ticks",
    )

    def __init__(self, context: TaskContext, clock: Clock) -> None:
        super().__init__(context)
        self._clock = clock
        self._system_secs = context.conf.message_timeout_secs / 2
        self._system_due = 0.0
        self._system_tasks: Sequence[Task] = ()
        self._tuple_ticks: list[tuple[TickSchedule, BoltTask]] = []
        self._executors: list[Executor] = []
        self._report: Callable[[BaseException], None] = lambda error: None
        self._look: Callable[[], None] = lambda: None

    def watch(
        self, executors: Sequence[Executor], report: Callable[[BaseException], None], look: Callable[[], None]
    ) -> None:
        """Watch these executors and report those that died; call ``look`` every turn."""
        self._executors = list(executors)
        self._report = report
        self._look = look

    def schedule(self, ticked: Sequence[Task], bolts: Sequence[BoltTask]) -> None:
        """Who gets system ticks, and which bolts may get tick tuples."""
        self._system_tasks = ticked
        now = self._clock.now()
        self._system_due = now + self._system_secs
        for bolt in bolts:
            period = bolt.context.conf.tick_tuple_freq_secs
            if period is not None:
                self._tuple_ticks.append((TickSchedule(now, period), bolt))

    def due(self) -> float | None:
        return min([self._system_due, *(schedule.due for schedule, _ in self._tuple_ticks)]) if self.started else None

    def turn(self, flow: Flow) -> bool:
        if not self.started:
            return False
        now = self._clock.now()
        if now > self._system_due - _ROUNDING:
            self._system_due = max(self._system_due, now - _ROUNDING) + self._system_secs
            for executor in self._executors:
                executor.flow.ticks += 1
            for task in self._system_tasks:
                _put(task, SystemTick())
        for schedule, bolt in self._tuple_ticks:
            if schedule.take(now) and bolt.started and not bolt.tick_waits:
                bolt.tick_waits = True
                _put(bolt, TupleTick(schedule.number))
        for executor in [e for e in self._executors if e.has_died]:
            self._executors.remove(executor)
            self._report(executor.death)
        self._look()
        return False


def _put(task: Task, message: Any) -> None:
    if task.channel is not None:
        task.channel.put(message)
