"""A topology: spouts, bolts and the streams that join them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from fsshelter_py.conf import Conf, merged
from fsshelter_py.errors import TopologyError
from fsshelter_py.model.component import Bolt, Spout
from fsshelter_py.model.grouping import Grouping
from fsshelter_py.model.ids import ComponentId, StreamId
from fsshelter_py.model.order import cycle_of

__all__ = ["Stream", "Topology"]


@dataclass(frozen=True, slots=True)
class Stream:
    """The tuples of one class that go from one component to another.

    id: the stream's name, from its class. cls: the tuple class. grouping: how they are spread over the tasks.
    """

    id: StreamId
    cls: type[Any]
    source: ComponentId
    target: ComponentId
    grouping: Grouping

    @property
    def anchored(self) -> bool:
        """Whether what the target emits joins the tree of the tuple it handles."""
        return self.grouping.anchored

    def __str__(self) -> str:
        return f"{self.source} {'>>' if self.anchored else '->'} {self.target} on {self.id} by {self.grouping}"


@dataclass(frozen=True)
class Topology:
    """An immutable, validated topology.

    spouts, bolts: by component name. streams: in the order declared.
    options: what ``with_conf`` was given; forced: options that win over those of the components too.
    """

    name: str
    spouts: Mapping[ComponentId, Spout]
    bolts: Mapping[ComponentId, Bolt]
    streams: tuple[Stream, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    forced: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("spouts", "bolts", "options", "forced"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def conf(self) -> Conf:
        """The topology's options, with the defaults filled in."""
        return Conf.of(self.options, self.forced)

    def conf_of(self, component: ComponentId) -> Conf:
        """The options in force for a component: its own over the topology's, forced ones over both."""
        return Conf.of(self.options, self.component(component).conf, self.forced)

    def component(self, name: ComponentId) -> Spout | Bolt:
        """The spout or bolt of that name. Raises ``KeyError`` where there is none."""
        found = self.spouts.get(name) or self.bolts.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def with_name(self, name: str) -> Topology:
        """The same topology under another name."""
        return replace(self, name=name)

    def with_conf(self, options: Mapping[str, Any] | None = None, /, **by_field: Any) -> Topology:
        """The same topology with options set, by field or by Storm key. Raises ``TopologyError``."""
        return self._with(options=merged(self.options, options or {}, by_field))

    def with_forced_conf(self, options: Mapping[str, Any], /) -> Topology:
        """The same topology with options that win over those of the components too. Raises ``TopologyError``."""
        return self._with(forced=merged(self.forced, options))

    def __add__(self, other: Topology) -> Topology:
        """Both topologies as one, under the first one's name (FsShelter's ``++``); the first one's options win.

        A component that both name is shared where it is the same one. Raises ``TopologyError`` where it is not, and
        where components so shared close a cycle.
        """
        mine, theirs = {**self.spouts, **self.bolts}, {**other.spouts, **other.bolts}
        streams = self.streams + tuple(s for s in other.streams if s not in self.streams)
        problems = [
            f"both topologies have a component {name!r}; name one of them differently"
            for name in mine
            if name in theirs and mine[name] is not theirs[name]
        ]
        cycle = cycle_of((s.source, s.target) for s in streams)
        if cycle and not problems:
            problems.append(f"together they have a cycle {' -> '.join(cycle)}; take one of its streams away")
        if problems:
            raise TopologyError(self.name, problems)
        return Topology(
            name=self.name,
            spouts={**self.spouts, **other.spouts},
            bolts={**self.bolts, **other.bolts},
            streams=streams,
            options=merged(other.options, self.options),
            forced=merged(other.forced, self.forced),
        )

    def _with(self, **changes: Any) -> Topology:
        changed = replace(self, **changes)
        problems = Conf.problems(changed.options) + Conf.problems(changed.forced)
        if problems:
            raise TopologyError(self.name, problems)
        return changed
