"""A task's counters at one moment, as they go to the ledger, from this process or another."""

from __future__ import annotations

from dataclasses import dataclass, field

from fsshelter_py.execute.manual_task import ManualBolt
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.task import Task
from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.outcome import NackKind

__all__ = ["TaskCounts", "counts_of"]


@dataclass(slots=True)
class TaskCounts:
    """See ``Task`` and ``SpoutTask`` for what is counted; ``dead`` and what follows are a spout's."""

    component: ComponentId
    emitted: int
    executed: int
    failed: int
    untracked_failures: int
    pending: int
    queued: int
    latency_secs: float
    latency_count: int
    acked: int = 0
    dead: int = 0
    letters_acked: int = 0
    nacks: dict[NackKind, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


def counts_of(task: Task) -> TaskCounts:
    """What the task counts now. Any thread."""
    counts = TaskCounts(
        task.component,
        task.emitted,
        task.executed,
        task.failed,
        task.untracked_failures,
        task.pending,
        task.channel.count if task.channel is not None else 0,
        task.latency.total,
        task.latency.count,
        task.acked if isinstance(task, (SpoutTask, ManualBolt)) else max(0, task.executed - task.failed),
    )
    if isinstance(task, SpoutTask):
        counts.dead = task.dead
        counts.letters_acked = task.letters_acked
        counts.nacks = dict(task.nacks)
        counts.reasons = list(task.reasons)
    return counts
