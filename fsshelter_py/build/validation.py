"""Every problem of a declared topology, found together. Each says what, where, and how to mend it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fsshelter_py.build.component_checks import component_problems
from fsshelter_py.build.stream_checks import stream_problems
from fsshelter_py.conf import Conf
from fsshelter_py.model.ids import ComponentId, StreamId
from fsshelter_py.model.order import cycle_of
from fsshelter_py.model.topology import Topology

__all__ = ["validate"]


def validate(topology: Topology, *, reached: Collection[ComponentId] = ()) -> list[str]:
    """One sentence for each problem of the topology; none where it is sound.

    reached: components with a stream leading to them that is not in the topology, since it is wrong itself.
    """
    return [*_topology_problems(topology), *_component_problems(topology, reached), *_stream_problems(topology)]


def _topology_problems(topology: Topology) -> Iterator[str]:
    yield from Conf.problems(topology.options)
    yield from Conf.problems(topology.forced)
    cycle = cycle_of((s.source, s.target) for s in topology.streams)
    if cycle:
        yield f"cycle {' -> '.join(cycle)}: streams must not lead back to where they come from; take one of them away"


def _component_problems(topology: Topology, also_reached: Collection[ComponentId]) -> Iterator[str]:
    reached = {s.target for s in topology.streams}.union(also_reached)
    for name, spout in topology.spouts.items():
        for problem in component_problems(spout, topology):
            yield f"spout {name!r}: {problem}"
    for name, bolt in topology.bolts.items():
        for problem in component_problems(bolt, topology, reached=name in reached):
            yield f"bolt {name!r}: {problem}"


def _stream_problems(topology: Topology) -> Iterator[str]:
    seen: dict[tuple[str, StreamId, str], None] = {}
    classes: dict[StreamId, type] = {}
    for stream in topology.streams:
        for problem in stream_problems(stream, topology):
            yield f"stream {stream.source} >> {stream.target} on {stream.id}: {problem}"
        known = classes.setdefault(stream.id, stream.cls)
        if known is not stream.cls:
            classes[stream.id] = stream.cls
            yield (
                f"two classes have the stream id {stream.id!r}: {_full(known)} and {_full(stream.cls)}; "
                "name the stream of one with @stream('another-name')"
            )
        edge = (stream.source, stream.id, stream.target)
        if edge in seen:
            yield (
                f"{stream.target!r} subscribes stream {stream.id!r} of {stream.source!r} more than once: "
                "keep one of them, with one grouping"
            )
        seen[edge] = None


def _full(cls: type) -> str:
    return f"{getattr(cls, '__module__', '?')}.{getattr(cls, '__qualname__', cls)}"
