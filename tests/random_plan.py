"""Plans of topologies, drawn at random with nothing but whole numbers.

So hypothesis can draw (and shrink) them as well as a seeded generator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from fsshelter_py import Grouping
from fsshelter_py.model.grouping import GroupingKind
from tests.reference import FAIL

__all__ = ["BoltPlan", "Draw", "Plan", "SpoutPlan", "StreamPlan", "draw_plan", "handle", "sources_of"]

Draw: TypeAlias = Callable[[int, int], int]
"""``draw(low, high)`` gives a whole number, both ends included; the first is the simplest."""


@dataclass(frozen=True)
class X:
    n: int


@dataclass(frozen=True)
class Y:
    n: int


@dataclass(frozen=True)
class Z:
    n: int


CLASSES: tuple[type[Any], ...] = (X, Y, Z)

BoltStyle: TypeAlias = Literal["sync", "async", "batched", "batched-async", "manual", "terminator"]
STYLES: tuple[BoltStyle, ...] = ("sync", "async", "batched", "manual", "batched-async", "terminator")


@dataclass(frozen=True)
class SpoutPlan:
    """``count`` tuples, of the classes of ``emits`` in turn."""

    name: str
    count: int
    emits: tuple[type[Any], ...]
    reliable: bool
    is_async: bool
    parallelism: int
    executors: int | None


@dataclass(frozen=True)
class BoltPlan:
    """For each tuple emits one of each class in ``emits``; fails those whose n is a multiple of ``fails``, 0 for none.

    fails_after: how many it emits before it fails.
    """

    name: str
    style: BoltStyle
    emits: tuple[type[Any], ...]
    fails: int
    fails_after: int
    parallelism: int
    executors: int | None
    concurrency: int
    batch: int


@dataclass(frozen=True)
class StreamPlan:
    source: str
    target: str
    grouping: Grouping


@dataclass(frozen=True)
class Plan:
    spouts: tuple[SpoutPlan, ...]
    bolts: tuple[BoltPlan, ...]
    streams: tuple[StreamPlan, ...]
    conf: dict[str, Any]

    @property
    def is_exact(self) -> bool:
        """Whether the outcome of a tuple depends on that tuple alone: batches tie the trees of theirs together."""
        return not any(bolt.style.startswith("batched") and bolt.batch > 1 for bolt in self.bolts)


# --- drawing ------------------------------------------------------------------------------------------------------


def draw_plan(draw: Draw, *, tuples: int = 40, deliveries: int = 1500) -> Plan:
    """1 to 3 spouts and 1 to 6 bolts, of ``tuples`` each at most, and of about ``deliveries`` to a bolt at most."""
    spouts = tuple(_spout(draw, f"s{i}", tuples) for i in range(draw(1, 3)))
    emitted: dict[str, Counter[type[Any]]] = {
        spout.name: Counter(spout.emits[n % len(spout.emits)] for n in range(spout.count)) for spout in spouts
    }
    classes = {spout.name: spout.emits for spout in spouts}
    unused = [spout.name for spout in spouts]
    bolts: list[BoltPlan] = []
    streams: list[StreamPlan] = []
    for index in range(draw(1, 6)):
        name, parallelism = f"b{index}", draw(1, 4)
        before = list(classes)
        sources = {unused.pop(0) if unused else before[draw(0, len(before) - 1)]}
        if draw(0, 2) == 2:
            sources.add(before[draw(0, len(before) - 1)])
        if index == 0:  # every spout must lead somewhere
            sources |= set(unused)
            unused.clear()
        handed = 0
        by_class: dict[type[Any], Grouping] = {}
        for source in sorted(sources):
            options = classes[source] or CLASSES
            cls = options[draw(0, len(options) - 1)]
            grouping = by_class.get(cls) or _grouping(draw, cls)
            copies = parallelism if grouping.kind in (GroupingKind.ALL, GroupingKind.CUSTOM) else 1
            if emitted[source][cls] * copies > deliveries:
                grouping, copies = Grouping(GroupingKind.SHUFFLE, cls), 1
            by_class[cls] = grouping  # one for all sources: what arrives does not tell which of them it came from
            handed += emitted[source][cls] * copies
            streams.append(StreamPlan(source, name, replace(grouping, anchored=draw(0, 3) < 3)))
        bolt = _bolt(draw, name, parallelism, min(5, deliveries // max(1, handed)))
        bolts.append(bolt)
        classes[name] = bolt.emits
        emitted[name] = Counter({cls: handed * times for cls, times in Counter(bolt.emits).items()})
    conf = {
        "placement": ("auto", "shared", "per-task")[draw(0, 2)],
        "acker_tasks": (1, 0, 3)[draw(0, 2)],
        "acker_executors": draw(1, 2),
        "executor_receive_buffer_size": (1024, 1, 4)[draw(0, 2)],
        "max_spout_pending": (128, 1, 5)[draw(0, 2)],
    }
    return Plan(spouts, tuple(bolts), tuple(streams), conf)


def _spout(draw: Draw, name: str, tuples: int) -> SpoutPlan:
    parallelism = draw(1, 3)
    return SpoutPlan(
        name,
        count=draw(0, tuples),
        emits=tuple(CLASSES[draw(0, 2)] for _ in range(draw(1, 2))),
        reliable=draw(0, 3) < 3,
        is_async=draw(0, 3) == 3,
        parallelism=parallelism,
        executors=draw(0, parallelism) or None,
    )


def _bolt(draw: Draw, name: str, parallelism: int, fan_out: int) -> BoltPlan:
    emits = tuple(CLASSES[draw(0, 2)] for _ in range(draw(0, fan_out)))
    return BoltPlan(
        name,
        style=STYLES[draw(0, len(STYLES) - 1)],
        emits=emits,
        fails=(0, 5, 2)[draw(0, 2)],
        fails_after=draw(0, len(emits)),
        parallelism=parallelism,
        executors=draw(0, parallelism) or None,
        concurrency=draw(1, 3),
        batch=draw(1, 4),
    )


def _grouping(draw: Draw, cls: type[Any]) -> Grouping:
    kind = list(GroupingKind)[draw(0, len(GroupingKind) - 1)]
    if kind in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY):
        return Grouping(kind, cls, fields=("n",)) if draw(0, 1) else Grouping(kind, cls, key=_coarse)
    return Grouping(kind, cls, choose=_some if kind is GroupingKind.CUSTOM else None)


def _coarse(tuple_: Any) -> int:
    return int(tuple_.n) % 7


def _some(tuple_: Any, tasks: Sequence[int]) -> Sequence[int] | int:
    """One task, all, every second, or none."""
    return (tasks[tuple_.n % len(tasks)], tasks, tasks[::2], ())[tuple_.n % 4]


# --- what it does -------------------------------------------------------------------------------------------------


def sources_of(plan: Plan) -> dict[str, list[Any]]:
    """The tuples of each spout."""
    return {
        spout.name: [spout.emits[n % len(spout.emits)](n + 1000 * i) for n in range(spout.count)]
        for i, spout in enumerate(plan.spouts)
    }


def handle(plan: BoltPlan, tuple_: Any) -> list[Any]:
    """What a bolt emits for a tuple, and FAIL where it raises."""
    salt = int(plan.name[1:])
    emitted: list[Any] = [cls((tuple_.n * 31 + 17 * i + salt) % 99_991) for i, cls in enumerate(plan.emits)]
    if plan.style == "terminator":
        return [*emitted, FAIL]
    if plan.fails and tuple_.n % plan.fails == 0 and not plan.style.startswith("batched"):
        return [*emitted[: plan.fails_after], FAIL]
    return emitted
