"""What a topology did so far, over all its restarts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.component import SpoutKind
from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.outcome import NackKind
from fsshelter_py.model.stats import ComponentStats
from fsshelter_py.model.topology import Topology

__all__ = ["Ledger"]

_REASONS = 5


@dataclass(slots=True)
class _Account:
    """A component's counts from the runs before the present one."""

    past: ComponentStats
    unresolved: Unresolved | None


class Ledger:
    """Counts by component. Used by the supervisor's thread; ``components`` may be read from any."""

    def __init__(self, topology: Topology) -> None:
        self._accounts: dict[ComponentId, _Account] = {}
        for name, spout in topology.spouts.items():
            empty = ComponentStats(name, "spout", spout.parallelism, 0)
            self._accounts[name] = _Account(empty, Unresolved(replaying=spout.kind is SpoutKind.REPLAYING))
        for name, bolt in topology.bolts.items():
            self._accounts[name] = _Account(ComponentStats(name, "bolt", bolt.parallelism, 0), None)
        self.nacks: dict[NackKind, int] = {}
        self.reasons: list[str] = []

    @property
    def unresolved(self) -> dict[ComponentId, Unresolved]:
        """For each spout, what failed and was not acked since; outlives a run."""
        return {name: a.unresolved for name, a in self._accounts.items() if a.unresolved is not None}

    def components(self, runtime: RuntimeTopology | None) -> dict[ComponentId, ComponentStats]:
        """Every component's counts, those of the present run included."""
        stats = {}
        for name, account in self._accounts.items():
            now = _added(account.past, runtime) if runtime is not None else account.past
            lost = len(account.unresolved) + now.dead if account.unresolved is not None else 0
            stats[name] = replace(now, unresolved=now.unresolved + lost)
        return stats

    def close(self, runtime: RuntimeTopology) -> None:
        """A run is over: its counts become past ones."""
        for account in self._accounts.values():
            account.past = replace(_added(account.past, runtime), pending=0, queued=0)
        for spout in runtime.spout_tasks.values():
            for kind, count in spout.nacks.items():
                self.nacks[kind] = self.nacks.get(kind, 0) + count
            self.reasons = (self.reasons + spout.reasons)[:_REASONS]

    def restarted(self) -> None:
        """The topology starts again."""
        for unresolved in self.unresolved.values():
            unresolved.restarted()


def _added(past: ComponentStats, runtime: RuntimeTopology) -> ComponentStats:
    tasks = [runtime.tasks[task_id] for task_id in runtime.assignment.tasks_of(past.component)]
    spouts = [task for task in tasks if isinstance(task, SpoutTask)]
    failed, executed = sum(t.failed for t in tasks), sum(t.executed for t in tasks)
    return replace(
        past,
        executors=sum(1 for plan in runtime.assignment.executors if any(t.id in plan.task_ids for t in tasks)),
        emitted=past.emitted + sum(t.emitted for t in tasks),
        executed=past.executed + executed,
        acked=past.acked + (sum(s.acked for s in spouts) if spouts else max(0, executed - failed)),
        failed=past.failed + failed,
        timed_out=past.timed_out + sum(s.nacks.get("timeout", 0) for s in spouts),
        pending=sum(t.pending for t in tasks),
        queued=sum(t.channel.count for t in tasks if t.channel is not None),
        dead=past.dead + sum(s.dead for s in spouts),
        letters_acked=past.letters_acked + sum(s.letters_acked for s in spouts),
        unresolved=past.unresolved + sum(t.untracked_failures for t in tasks),
        latency_ms=_latency(tasks) or past.latency_ms,
    )


def _latency(tasks: Sequence[Task]) -> float | None:
    count = sum(task.latency.count for task in tasks)
    return sum(task.latency.total for task in tasks) / count * 1000 if count else None
