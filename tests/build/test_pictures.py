"""A topology described, drawn and put in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsshelter_py import Bolt, Group, Shuffle, Spout, Topology, topology
from fsshelter_py.build.describe import describe
from fsshelter_py.build.graph import dot
from fsshelter_py.build.order import topological


@dataclass(frozen=True)
class Word:
    word: str


@dataclass(frozen=True)
class Count:
    word: str


def consume(word: Any, emit: Any) -> None:
    pass


async def store_async(word: Any, emit: Any) -> None:
    pass


@topology("words")
def words(odd: str = "counter"):  # type: ignore[no-untyped-def]
    spout = Spout.replaying(lambda ctx: [])
    store = Bolt.run(store_async).with_conf(debug=True)
    counter = Bolt.run(consume).with_parallelism(2).with_name(odd)
    yield spout >> counter | Group.by(Word, "word")
    yield counter >> store | Shuffle.on(Count).unanchored()


def test_a_description_names_everything() -> None:
    """Options that are not the default, components with their tasks, executors, streams with their groupings."""
    text = describe(words().with_conf({"my.key": 1}, max_spout_pending=5))
    assert text.splitlines() == [
        "topology words",
        "  topology.max.spout.pending = 5",
        "  my.key = 1",
        "components",
        "  spout spout    replaying, task 2",
        "  bolt  store    run, task 3, debug=True",
        "  bolt  counter  run, tasks 4, 5",
        "executors",
        "  system: __system, task 0",
        "  shared: __acker, task 1; spout, task 2",
        "  async (event loop): store, task 3",
        "  counter-0: counter, task 4",
        "  counter-1: counter, task 5",
        "streams",
        "  spout >> counter on Word by fields(word)",
        "  counter -> store on Count by shuffle",
    ]


def test_a_graph_shows_kinds_tasks_and_anchoring() -> None:
    """Blue spouts, green bolts, dotted where not anchored."""
    assert dot(words()).splitlines() == [
        'digraph "words" {',
        "  rankdir=LR",
        r'  "spout" [label="spout\n[1]", color=blue]',
        r'  "store" [label="store\n[1]", color=green]',
        r'  "counter" [label="counter\n[2]", color=green]',
        '  "spout" -> "counter" [label="Word", style=solid]',
        '  "counter" -> "store" [label="Count", style=dotted]',
        "}",
    ]


def test_a_coloured_graph_gives_a_stream_one_colour_always() -> None:
    """By its id alone, and its label in the same one."""
    (edge,) = (line for line in dot(words(), colour=True).splitlines() if '"Word"' in line)
    assert edge == '  "spout" -> "counter" [label="Word", style=solid, color=violetred4, fontcolor=violetred4]'


def test_names_are_quoted_in_a_graph() -> None:
    """A quote or a backslash in a name stays one name."""
    text = dot(words('a "b" \\c:d'))
    assert r'"a \"b\" \\c:d" [label="a \"b\" \\c:d\n[2]", color=green]' in text
    assert r'"spout" -> "a \"b\" \\c:d" [' in text


def test_components_are_ordered_along_their_streams() -> None:
    """Not as they were declared."""
    assert topological(words()) == ("spout", "counter", "store")


def test_unconnected_topologies_are_ordered_too() -> None:
    """Every component is in the order."""
    assert topological(Topology("t", {"a": Spout.replaying(lambda ctx: [])}, {}, ())) == ("a",)
