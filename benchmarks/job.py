"""A job: an input, the user functions it goes through, and the outcome that every contestant must arrive at.

All contestants call the same user functions and make the same records, so that what differs is the way between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Job", "Step", "Tally", "merged"]

Tally: TypeAlias = dict[Any, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One bolt.

    consume: ``consume(state, tuple, emit)``; ``state`` is a new ``Tally`` for each task.
    takes: the classes it takes. key: the field they are grouped by, None for a shuffle.
    fold: the same step for those who keep a state per key: ``fold(state, tuple)`` gives the next state and what is
    emitted; None where none is kept. copies: tasks that each get every tuple. at_once: calls to have in flight;
    then ``consume_async`` is the same function for those who have an event loop.
    """

    name: str
    consume: Callable[[Tally, Any, Any], object]
    takes: tuple[type[Any], ...]
    key: str | None = None
    fold: Callable[[Any, Any], tuple[Any, Any]] | None = None
    copies: int = 1
    at_once: int = 1
    consume_async: Callable[[Tally, Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """``make(item)`` of each of ``items(size)`` goes through the steps; the last one's tallies are the outcome.

    plain: the same by hand, in a loop. expected: the outcome, worked out by none of the contestants.
    unit: what a time is given for; an outcome that sums to ``per_unit`` is one of them.
    size: of a full run. shares: what part of it a slow contestant is given, so that each takes some seconds at most.
    """

    name: str
    title: str
    items: Callable[[int], Sequence[Any]]
    make: Callable[[Any], Any]
    steps: tuple[Step, ...]
    plain: Callable[[Iterable[Any]], Tally]
    expected: Callable[[Sequence[Any]], Tally]
    unit: str
    size: int
    per_unit: int = 1
    shares: Mapping[str, float] = field(default_factory=dict)

    def units(self, outcome: Tally) -> int:
        """How many units of work an outcome stands for."""
        return sum(outcome.values()) // self.per_unit


def merged(tallies: Iterable[Tally]) -> Tally:
    """The outcome of several tasks."""
    outcome: Tally = {}
    for tally in tallies:
        for key, met in tally.items():
            outcome[key] = outcome.get(key, 0) + met
    return outcome
