"""The tuple classes and small topologies that integration tests share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fsshelter_py import Bolt, Grouping, Shuffle, Spout, Subscription, Topology, topology

__all__ = ["PLACEMENTS", "Letter", "Number", "linked", "numbers"]

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
