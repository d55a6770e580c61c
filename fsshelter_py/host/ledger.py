"""What a topology did so far, over all its restarts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.execute.counts import TaskCounts
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
        counts = runtime.counts() if runtime is not None else []
        for name, account in self._accounts.items():
            now = _added(account.past, runtime, counts) if runtime is not None else account.past
            lost = len(account.unresolved) + now.dead if account.unresolved is not None else 0
            stats[name] = replace(now, unresolved=now.unresolved + lost)
        return stats

    def close(self, runtime: RuntimeTopology) -> None:
        """A run is over: its counts become past ones."""
        counts = runtime.counts()
        for account in self._accounts.values():
            account.past = replace(_added(account.past, runtime, counts), pending=0, queued=0)
        for task in counts:
            for kind, count in task.nacks.items():
                self.nacks[kind] = self.nacks.get(kind, 0) + count
            self.reasons = (self.reasons + task.reasons)[:_REASONS]

    def restarted(self) -> None:
        """The topology starts again."""
        for unresolved in self.unresolved.values():
            unresolved.restarted()


def _added(past: ComponentStats, runtime: RuntimeTopology, counts: Sequence[TaskCounts]) -> ComponentStats:
    ids = set(runtime.assignment.tasks_of(past.component))
    tasks = [task for task in counts if task.component == past.component]
    return replace(
        past,
        executors=sum(1 for plan in runtime.assignment.executors if not ids.isdisjoint(plan.task_ids)),
        emitted=past.emitted + sum(t.emitted for t in tasks),
        executed=past.executed + sum(t.executed for t in tasks),
        acked=past.acked + sum(t.acked for t in tasks),
        failed=past.failed + sum(t.failed for t in tasks),
        timed_out=past.timed_out + sum(t.nacks.get("timeout", 0) for t in tasks),
        pending=sum(t.pending for t in tasks),
        queued=sum(t.queued for t in tasks),
        dead=past.dead + sum(t.dead for t in tasks),
        letters_acked=past.letters_acked + sum(t.letters_acked for t in tasks),
        unresolved=past.unresolved + sum(t.untracked_failures for t in tasks),
        latency_ms=_latency(tasks) or past.latency_ms,
    )


def _latency(tasks: Sequence[TaskCounts]) -> float | None:
    count = sum(task.latency_count for task in tasks)
    return sum(task.latency_secs for task in tasks) / count * 1000 if count else None
