"""Reading how the executors of a runtime spend their time."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.execute.bolt_task import RunBolt
from fsshelter_py.execute.executor import Executor
from fsshelter_py.host.advice import ExecutorSample
from fsshelter_py.model.ids import ACKER, ComponentId

__all__ = ["Usage"]


class Usage:
    """The difference between one reading and the next. Used by the supervisor's thread."""

    def __init__(self, runtime: RuntimeTopology) -> None:
        self._executors = [e for e in runtime.executors if runtime.system_task not in e.tasks]
        self._at = time.monotonic()
        self._last = {executor.name: (executor.slept, *_processor(executor)) for executor in self._executors}

    def sample(self) -> tuple[list[ExecutorSample], float]:
        """What each executor did since the last time, and how many seconds that is."""
        now = time.monotonic()
        secs, self._at = now - self._at, now
        samples = []
        for executor in self._executors:
            reading = (executor.slept, *_processor(executor))
            slept, cpu, queued = (a - b for a, b in zip(reading, self._last[executor.name], strict=True))
            self._last[executor.name] = reading
            is_shared = len({task.component for task in executor.tasks} - {ACKER}) > 1
            samples.append(
                ExecutorSample(executor.name, max(0.0, secs - slept), cpu, queued, is_shared, _waits(executor))
            )
        return samples, secs


def _processor(executor: Executor) -> tuple[float, float]:
    """Seconds that the executor's thread has had a processor so far, and has queued for one.

    Both are 0 where the thread is over, or the platform does not tell. Linux does, for any thread id, alive or not.
    """
    thread = executor.thread
    if thread is None or thread.native_id is None:
        return 0.0, 0.0
    try:
        cpu, queued, _ = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(cpu) / 1e9, int(queued) / 1e9


def _waits(executor: Executor) -> dict[ComponentId, float]:
    total: dict[ComponentId, float] = defaultdict(float)
    cpu: dict[ComponentId, float] = defaultdict(float)
    for task in executor.tasks:
        if not isinstance(task, RunBolt):
            continue
        total[task.component] += task.latency.total
        cpu[task.component] += task.latency.cpu
    return {name: 1 - cpu[name] / secs if secs else 0.0 for name, secs in total.items()}
