"""A topology as a GraphViz graph, drawn as FsShelter draws it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from fsshelter_py.model.ids import StreamId
from fsshelter_py.model.topology import Topology

__all__ = ["dot"]

# fmt: off
_COLOURS = (  # X11 names that GraphViz knows, dark enough to be read on white
    "blue4", "blueviolet", "brown", "cadetblue4", "chocolate4", "coral4", "crimson", "cyan4", "darkgoldenrod4",
    "darkgreen", "darkmagenta", "darkolivegreen", "darkorange3", "darkorchid4", "darkred", "darkslateblue",
    "darkslategray", "deeppink3", "deepskyblue4", "dodgerblue3", "firebrick", "forestgreen", "hotpink4", "indigo",
    "maroon", "mediumpurple4", "midnightblue", "olivedrab", "orangered3", "orchid4", "purple4", "royalblue4",
    "saddlebrown", "seagreen", "sienna", "slateblue3", "steelblue4", "tomato4", "turquoise4", "violetred4",
)
# fmt: on


def dot(topology: Topology, colour: bool = False) -> str:
    """The topology in the DOT language.

    Spouts are blue and bolts green, with their number of tasks; anchored streams are solid, others dotted. With
    ``colour`` each stream has a colour of its own, the same in every graph.
    """
    return "\n".join(
        [
            f"digraph {_quoted(topology.name)} {{",
            "  rankdir=LR",
            *(f"  {line}" for line in _nodes(topology)),
            *(f"  {line}" for line in _edges(topology, colour)),
            "}\n",
        ]
    )


def _nodes(topology: Topology) -> Iterator[str]:
    for components, colour in ((topology.spouts, "blue"), (topology.bolts, "green")):
        for name, component in components.items():
            yield f"{_quoted(name)} [label={_quoted(name, f'[{component.parallelism}]')}, color={colour}]"


def _edges(topology: Topology, colour: bool) -> Iterator[str]:
    for stream in topology.streams:
        look = f"label={_quoted(stream.id)}, style={'solid' if stream.anchored else 'dotted'}"
        if colour:
            look += ", color={0}, fontcolor={0}".format(_colour_of(stream.id))
        yield f"{_quoted(stream.source)} -> {_quoted(stream.target)} [{look}]"


def _colour_of(stream: StreamId) -> str:
    return _COLOURS[zlib.crc32(stream.encode()) % len(_COLOURS)]


def _quoted(*lines: str) -> str:
    """One DOT string of these lines; quoted always, since a bare word may be a keyword and a colon means a port."""
    escaped = (line.replace("\\", r"\\").replace('"', r"\"") for line in lines)
    return '"' + r"\n".join(escaped) + '"'
