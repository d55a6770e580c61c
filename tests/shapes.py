"""The tuple classes and small topologies that integration tests share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fsshelter_py import Bolt, Emit, Group, Grouping, Shuffle, Spout, Subscription, TaskContext, Topology, topology
from fsshelter_py.testing import CollectBolt, ListSpout

__all__ = ["PLACEMENTS", "Letter", "Number", "chain_with_last_words", "linked", "numbers"]

PLACEMENTS = ("auto", "shared", "per-task")


@dataclass(frozen=True)
class Number:
    n: int


@dataclass(frozen=True)
class Letter:
    text: str
    n: int = 0


def numbers(count: int, start: int = 0) -> list[Number]:
    return [Number(n) for n in range(start, start + count)]


def linked(*links: tuple[Spout | Bolt, Bolt, Grouping] | tuple[Spout | Bolt, Bolt], **conf: Any) -> Topology:
    """A topology of (source, target, grouping), by Shuffle of Number where none is given.

    A component given no name is called ``c0``, ``c1``, … in the order met.
    """
    named: dict[int, Any] = {}
    for link in links:
        for component in link[:2]:
            named.setdefault(id(component), component.with_name(component.name or f"c{len(named)}"))
    subscriptions = [
        named[id(source)] >> named[id(target)] | (grouping[0] if grouping else Shuffle.on(Number))
        for source, target, *grouping in links
    ]

    @topology("linked")
    def build() -> Iterator[Subscription]:
        yield from subscriptions

    return build().with_conf(**conf)


def chain_with_last_words(tasks: int, **conf: Any) -> tuple[Topology, CollectBolt[Letter]]:
    """Three bolts in a row, not declared in that order, and what collects after them.

    Each task says a word when it stops, to which all that come after it add theirs.
    """

    def consume(ctx: TaskContext, tuple_: Any, emit: Emit[Letter]) -> None:
        if isinstance(tuple_, Letter):
            emit(Letter(f"{tuple_.text} {ctx.component}", tuple_.n))

    def bolt(name: str) -> Bolt:
        made = Bolt.run(consume, make_args=lambda ctx: ctx).with_name(name)
        return made.with_deactivation(Letter(f"off {name}:")).with_parallelism(tasks)

    first, second, third, sink = bolt("first"), bolt("second"), bolt("third"), CollectBolt[Letter]()
    letters = Group.by(Letter, "text")
    topology = linked(
        (ListSpout(numbers(10)).spout, first),
        (third, sink.bolt, letters),
        (second, third, letters),
        (first, second, letters),
        **conf,
    )
    return topology, sink
