"""Where a topology's graph is drawn: components in layers from left to right, each right of all that feed it. Pure.

After Sugiyama: layers by longest path; a stream that skips a layer passes through a place of its own in it; the order
within a layer comes from the mean place of the neighbours, by turns of those before and those after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from fsshelter_py.model.ids import ComponentId, StreamId
from fsshelter_py.model.order import in_order
from fsshelter_py.model.topology import Stream, Topology

__all__ = ["Edge", "Layout", "Node", "layout"]

Point: TypeAlias = tuple[float, float]

_MARGIN = 12.0
_CHARACTER = 8.0  # what a letter takes, about: the browser cuts a name that is wider than its box
_NODE_WIDTH = 136.0, 230.0
_GAP_WIDTH = 76.0, 190.0
_NODE_HEIGHT = 64.0
_PASSAGE_HEIGHT = 18.0
_ROW_GAP = 26.0
_PORT_GAP = 18.0
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Node:
    """A component's box: the middle of its left side, and its size."""

    component: ComponentId
    kind: Literal["spout", "bolt"]
    tasks: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream's line. It is level at every one of its points."""

    stream: StreamId
    source: ComponentId
    target: ComponentId
    grouping: str
    anchored: bool
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The graph and its size, in pixels."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(slots=True, eq=False)
class _Place:
    """What takes room in a layer: a component, or a stream that passes (then ``component`` is None)."""

    layer: int
    component: ComponentId | None
    height: float = _PASSAGE_HEIGHT
    y: float = 0.0
    before: list[_Place] = field(default_factory=list)
    after: list[_Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Route:
    """A stream, and the places that it leads through, ends included."""

    stream: Stream
    places: list[_Place]


def layout(topology: Topology) -> Layout:
    """Lay the topology's graph out."""
    layer_of = _layers(topology)
    places = {name: _Place(layer, name, _NODE_HEIGHT) for name, layer in layer_of.items()}
    routes = [_routed(stream, places) for stream in topology.streams]
    for place in places.values():
        ports = max(sum(r.places[end] is place for r in routes) for end in (0, -1))
        place.height = max(_NODE_HEIGHT, (ports + 1) * _PORT_GAP)
    layers = _ordered(max(layer_of.values(), default=-1) + 1, places.values(), routes)
    height = max((_height(layer) for layer in layers), default=0.0)
    for layer in layers:
        top = _MARGIN + (height - _height(layer)) / 2
        for place in layer:
            place.y = top + place.height / 2
            top += place.height + _ROW_GAP
    columns = _columns(layers, routes)
    right = columns[-1][1] if columns else _MARGIN
    return Layout(
        width=right + _MARGIN,
        height=height + 2 * _MARGIN,
        nodes=tuple(_node(topology, name, place, columns[place.layer]) for name, place in places.items()),
        edges=_edges(routes, columns),
    )


def _layers(topology: Topology) -> dict[ComponentId, int]:
    """How many streams lead to each component from a spout, along the longest way; in the order declared."""
    names = (*topology.spouts, *topology.bolts)
    layer = dict.fromkeys(names, 0)
    for name in in_order(names, ((s.source, s.target) for s in topology.streams)):
        for stream in topology.streams:
            if stream.target == name:
                layer[name] = max(layer[name], layer[stream.source] + 1)
    return layer


def _routed(stream: Stream, places: dict[ComponentId, _Place]) -> _Route:
    source, target = places[stream.source], places[stream.target]
    passages = [_Place(layer, None) for layer in range(source.layer + 1, target.layer)]
    route = [source, *passages, target]
    for left, right in pairwise(route):
        left.after.append(right)
        right.before.append(left)
    return _Route(stream, route)


def _ordered(depth: int, components: Iterable[_Place], routes: Sequence[_Route]) -> list[list[_Place]]:
    layers: list[list[_Place]] = [[] for _ in range(depth)]
    for place in (*components, *(passage for route in routes for passage in route.places[1:-1])):
        layers[place.layer].append(place)
    for sweep in range(_SWEEPS):
        is_forward = sweep % 2 == 0
        for layer in layers if is_forward else reversed(layers):
            at = {id(place): (row + 0.5) / len(beside) for beside in layers for row, place in enumerate(beside)}
            layer.sort(key=_mean_of(at, is_forward))
    return layers


def _mean_of(at: dict[int, float], is_forward: bool) -> Callable[[_Place], float]:
    def mean(place: _Place) -> float:
        neighbours = place.before if is_forward else place.after
        return sum(at[id(n)] for n in neighbours) / len(neighbours) if neighbours else at[id(place)]

    return mean


def _height(layer: Sequence[_Place]) -> float:
    return sum(place.height for place in layer) + _ROW_GAP * (len(layer) - 1)


def _columns(layers: Sequence[Sequence[_Place]], routes: Sequence[_Route]) -> list[tuple[float, float]]:
    """The left and the right of each layer; the gap after it has room for the names of the streams that leave it."""
    columns: list[tuple[float, float]] = []
    left = _MARGIN
    for number, layer in enumerate(layers):
        # The name, its number of tasks beside it, and the padding.
        width = _fitting(_NODE_WIDTH, (len(place.component or "") + 7 for place in layer))
        columns.append((left, left + width))
        left += width + _fitting(_GAP_WIDTH, (len(r.stream.id) + 6 for r in routes if r.places[0].layer == number))
    return columns


def _fitting(limits: tuple[float, float], characters: Iterable[int]) -> float:
    return min(limits[1], max(limits[0], _CHARACTER * max(characters, default=0)))


def _node(topology: Topology, name: ComponentId, place: _Place, column: tuple[float, float]) -> Node:
    left, right = column
    kind: Literal["spout", "bolt"] = "spout" if name in topology.spouts else "bolt"
    return Node(name, kind, topology.component(name).parallelism, left, place.y, right - left, place.height)


def _edges(routes: Sequence[_Route], columns: Sequence[tuple[float, float]]) -> tuple[Edge, ...]:
    starts, ends = _ports(routes, 0, 1), _ports(routes, -1, -2)
    edges = []
    for route in routes:
        first, last = route.places[0], route.places[-1]
        points = [(columns[first.layer][1], starts[id(route)])]
        for passage in route.places[1:-1]:
            points += [(x, passage.y) for x in columns[passage.layer]]
        points.append((columns[last.layer][0], ends[id(route)]))
        s = route.stream
        edges.append(Edge(s.id, s.source, s.target, str(s.grouping), s.anchored, tuple(points)))
    return tuple(edges)


def _ports(routes: Sequence[_Route], end: int, beside: int) -> dict[int, float]:
    """The height at which each stream meets its component, in the order of where they come from or go to."""
    heights: dict[int, float] = {}
    for place in {id(route.places[end]): route.places[end] for route in routes}.values():
        meeting = sorted((r for r in routes if r.places[end] is place), key=lambda r: r.places[beside].y)
        for number, route in enumerate(meeting):
            heights[id(route)] = place.y + (number - (len(meeting) - 1) / 2) * _PORT_GAP
    return heights
