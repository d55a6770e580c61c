"""Reading how the executors of a runtime spend their time."""

from __future__ import annotations

import sys
import time
from collections import defaultdict

from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.execute.bolt_task import RunBolt
from fsshelter_py.execute.executor import Executor
from fsshelter_py.host.advice import ExecutorSample
from fsshelter_py.model.ids import ACKER, ComponentId

__all__ = ["Usage"]

_THREAD_CLOCK = 6
"""The kernel's CPUCLOCK_SCHED, of one thread rather than its process."""


class Usage:
    """The difference between one reading and the next. Used by the supervisor's thread."""

    def __init__(self, runtime: RuntimeTopology) -> None:
        self._executors = [e for e in runtime.executors if runtime.system_task not in e.tasks]
        self._at = time.monotonic()
        self._last = {executor.name: (executor.slept, _cpu(executor)) for executor in self._executors}

    def sample(self) -> tuple[list[ExecutorSample], float]:
        """What each executor did since the last time, and how many seconds that is."""
        now = time.monotonic()
        secs, self._at = now - self._at, now
        samples = []
        for executor in self._executors:
            slept, cpu = executor.slept, _cpu(executor)
            last_slept, last_cpu = self._last[executor.name]
            self._last[executor.name] = (slept, cpu)
            busy = max(0.0, secs - (slept - last_slept))
            is_shared = len({task.component for task in executor.tasks} - {ACKER}) > 1
            samples.append(ExecutorSample(executor.name, busy, cpu - last_cpu, is_shared, _waits(executor)))
        return samples, secs


def _cpu(executor: Executor) -> float:
    """Seconds of processor time of the executor's thread so far; 0 where it is over, or the platform does not tell.

    Linux numbers a thread's clock by its id. The pthread function for it takes only threads that are known to be alive.
    """
    thread = executor.thread
    if not sys.platform.startswith("linux") or thread is None or thread.native_id is None:
        return 0.0
    try:
        return time.clock_gettime((~thread.native_id << 3) | _THREAD_CLOCK)
    except OSError:
        return 0.0


def _waits(executor: Executor) -> dict[ComponentId, float]:
    total: dict[ComponentId, float] = defaultdict(float)
    cpu: dict[ComponentId, float] = defaultdict(float)
    for task in executor.tasks:
        if not isinstance(task, RunBolt):
            continue
        total[task.component] += task.latency.total
        cpu[task.component] += task.latency.cpu
    return {name: 1 - cpu[name] / secs if secs else 0.0 for name, secs in total.items()}
