"""What a hosted topology has done so far, and what it did in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.outcome import NackKind

__all__ = ["ComponentStats", "HostState", "Stats", "Summary"]

HostState: TypeAlias = Literal["starting", "running", "restarting", "draining", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class ComponentStats:
    """Counts of one component, over all its tasks and all restarts.

    emitted: tuples emitted, each once however many receive it. executed: deliveries handled by a bolt.
    acked, failed: for a spout the source tuples settled either way, for a bolt the deliveries.
    timed_out: of the failed ones, those that were not settled in time.
    pending: unsettled source tuples of a spout, or deliveries a bolt has begun and not finished. queued: tuples waiting
    in its rings.
    dead: tuples a replaying spout gave up. letters_acked: dead letters of those that were acked; emitted and acked
    count them too, as every tuple that a spout emits.
    unresolved: source tuples (or untracked deliveries) that failed and were not acked later on; these are lost unless
    the source keeps them.
    latency_ms: mean milliseconds, of a sample: emit to settled for a spout, the user function for a bolt.
    """

    component: ComponentId
    kind: Literal["spout", "bolt"]
    tasks: int
    executors: int
    emitted: int = 0
    executed: int = 0
    acked: int = 0
    failed: int = 0
    timed_out: int = 0
    pending: int = 0
    queued: int = 0
    dead: int = 0
    letters_acked: int = 0
    unresolved: int = 0
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    """A snapshot of a hosted topology. ``components`` is in the order declared, spouts first."""

    topology: str
    state: HostState
    uptime_secs: float
    restarts: int
    components: Mapping[ComponentId, ComponentStats]

    @property
    def spouts(self) -> tuple[ComponentStats, ...]:
        return tuple(c for c in self.components.values() if c.kind == "spout")

    @property
    def bolts(self) -> tuple[ComponentStats, ...]:
        return tuple(c for c in self.components.values() if c.kind == "bolt")

    @property
    def emitted(self) -> int:
        """Tuples emitted by the spouts."""
        return sum(c.emitted for c in self.spouts)

    @property
    def acked(self) -> int:
        """Source tuples acked; the dead letters of others are not among them."""
        return sum(c.acked - c.letters_acked for c in self.spouts)

    @property
    def failed(self) -> int:
        """Source tuples nacked, for whatever reason."""
        return sum(c.failed for c in self.spouts)

    @property
    def dead(self) -> int:
        """Source tuples given up by their spout."""
        return sum(c.dead for c in self.spouts)

    @property
    def pending(self) -> int:
        """Source tuples not settled yet."""
        return sum(c.pending for c in self.spouts)

    @property
    def unresolved(self) -> int:
        """Tuples that failed and were not acked later on."""
        return sum(c.unresolved for c in self.components.values())


@dataclass(frozen=True, slots=True)
class Summary(Stats):
    """What a topology did from start to end.

    nacks: source tuples nacked, by kind of reason. first_failures: a few of the reasons, one
    of each kind, the most frequent kind first, for a report.
    """

    nacks: Mapping[NackKind, int] = field(default_factory=dict)
    first_failures: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every tuple was handled in the end: none dead, none failed for good."""
        return self.dead == 0 and self.unresolved == 0
