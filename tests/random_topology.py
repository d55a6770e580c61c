"""Topologies drawn at random, and what becomes of them: for the random-topology test and for soaking.

A plan says what a topology is made of; it is drawn with nothing but whole numbers, so that hypothesis can draw (and
shrink) it as well as a seeded generator. ``build`` makes the topology of it, with a journal of all that happens;
``expected`` asks the reference interpreter.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from fsshelter_py import END, Bolt, Collector, Delivery, Emit, Grouping, Spout, Subscription, Topology, topology
from fsshelter_py.build.assignment import assign
from fsshelter_py.model.grouping import GroupingKind
from tests.reference import FAIL, Expected, Outcome, interpret, split_keys

__all__ = ["BoltPlan", "Draw", "Journal", "Plan", "SpoutPlan", "StreamPlan", "build", "differences", "draw_plan"]

Draw: TypeAlias = Callable[[int, int], int]
"""``draw(low, high)`` gives a whole number, both ends included; the first is the simplest."""

Later: TypeAlias = Callable[[Callable[[], None]], None]
"""Does what it is given, now or later, in this thread or in another."""


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


def _handle(plan: BoltPlan, tuple_: Any) -> list[Any]:
    """What a bolt emits for a tuple, and FAIL where it raises."""
    salt = int(plan.name[1:])
    emitted: list[Any] = [cls((tuple_.n * 31 + 17 * i + salt) % 99_991) for i, cls in enumerate(plan.emits)]
    if plan.style == "terminator":
        return [*emitted, FAIL]
    if plan.fails and tuple_.n % plan.fails == 0 and not plan.style.startswith("batched"):
        return [*emitted[: plan.fails_after], FAIL]
    return emitted


@dataclass
class Journal:
    """All that happened. Written by many threads: each entry is one append."""

    received: list[tuple[str, str, int, Any]] = field(default_factory=list)
    """(bolt, stream, task, tuple) of each delivery."""
    settled: list[tuple[str, int, Outcome]] = field(default_factory=list)
    """(spout, index of the tuple, outcome) of each source tuple."""


def build(plan: Plan, later: Later) -> tuple[Topology, Journal]:
    """The topology of a plan. later: how its manual bolts settle."""
    journal = Journal()
    tuples = sources_of(plan)
    components: dict[str, Any] = {s.name: _make_spout(s, tuples[s.name], journal) for s in plan.spouts}
    components |= {b.name: _make_bolt(b, journal, later) for b in plan.bolts}
    subscriptions = [components[s.source] >> components[s.target] | s.grouping for s in plan.streams]

    @topology("random")
    def random() -> Iterator[Subscription]:
        yield from subscriptions

    return random().with_conf(plan.conf), journal


def _placed(component: Any, plan: SpoutPlan | BoltPlan) -> Any:
    placed = component.with_name(plan.name).with_parallelism(plan.parallelism)
    return placed if plan.executors is None else placed.with_executors(plan.executors)


def _make_spout(plan: SpoutPlan, tuples: list[Any], journal: Journal) -> Spout:
    def make_args(ctx: Any) -> list[tuple[int, Any]]:
        return list(enumerate(tuples))[ctx.task_index :: ctx.task_count][::-1]

    def following(left: list[tuple[int, Any]]) -> Any:
        if not left:
            return END
        return left.pop() if plan.reliable else left.pop()[1]

    async def following_async(left: list[tuple[int, Any]]) -> Any:
        await asyncio.sleep(0)
        return following(left)

    def make_acker(left: Any) -> tuple[Callable[[int], None], Callable[[int], None]]:
        return (
            lambda index: journal.settled.append((plan.name, index, "acked")),
            lambda index: journal.settled.append((plan.name, index, "nacked")),
        )

    following_: Any = following_async if plan.is_async else following
    if plan.reliable:
        return _placed(Spout.run_reliable(following_, make_args=make_args, make_acker=make_acker), plan)  # type: ignore[no-any-return]
    return _placed(Spout.run_unreliable(following_, make_args=make_args), plan)  # type: ignore[no-any-return]


def _make_bolt(plan: BoltPlan, journal: Journal, later: Later) -> Bolt:
    def receive(ctx: Any, tuple_: Any) -> None:
        journal.received.append((plan.name, type(tuple_).__name__, ctx.task_id, tuple_))

    def handle(ctx: Any, tuple_: Any, emit: Emit[Any]) -> None:
        receive(ctx, tuple_)
        for emitted in _handle(plan, tuple_):
            if emitted is FAIL:
                if plan.style != "terminator":
                    raise ValueError(f"{plan.name} fails {tuple_}")
            else:
                emit(emitted)

    async def handle_async(ctx: Any, tuple_: Any, emit: Emit[Any]) -> None:
        for _ in range(tuple_.n % 3):
            await asyncio.sleep(0)
        handle(ctx, tuple_, emit)

    def handle_batch(ctx: Any, tuples: list[Any], emit: Emit[Any]) -> None:
        for tuple_ in tuples:
            handle(ctx, tuple_, emit)

    async def handle_batch_async(ctx: Any, tuples: list[Any], emit: Emit[Any]) -> None:
        await asyncio.sleep(0)
        handle_batch(ctx, tuples, emit)

    def settle(delivery: Delivery[Any], collector: Collector[Any]) -> None:
        for emitted in _handle(plan, delivery.tuple):
            if emitted is FAIL:
                collector.fail(delivery, "told to")
                return
            collector.emit(emitted, anchors=[delivery])
        collector.ack(delivery)

    def handle_manual(ctx: Any, delivery: Delivery[Any], collector: Collector[Any]) -> None:
        receive(ctx, delivery.tuple)
        later(lambda: settle(delivery, collector))

    match plan.style:
        case "sync":
            bolt = Bolt.run(handle, make_args=_itself)
        case "terminator":
            bolt = Bolt.run_terminator(handle, make_args=_itself)
        case "async":
            bolt = Bolt.run(handle_async, make_args=_itself).with_concurrency(plan.concurrency)
        case "batched":
            bolt = Bolt.run_batched(handle_batch, max_size=plan.batch, max_wait=0.002, make_args=_itself)
        case "batched-async":
            bolt = Bolt.run_batched(handle_batch_async, max_size=plan.batch, max_wait=0.002, make_args=_itself)
        case _:
            bolt = Bolt.run_manual(handle_manual, make_args=_itself)
    return _placed(bolt, plan)  # type: ignore[no-any-return]


def _itself(ctx: Any) -> Any:
    return ctx


class Settlers:
    """A few threads that do what they are given; a context manager that waits for them."""

    def __init__(self, count: int = 2) -> None:
        self._jobs: list[Callable[[], None]] = []
        self._condition = threading.Condition()
        self._ended = False
        self._threads = [threading.Thread(target=self._serve) for _ in range(count)]

    def __call__(self, job: Callable[[], None]) -> None:
        with self._condition:
            self._jobs.append(job)
            self._condition.notify()

    def _serve(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._jobs or self._ended)
                if not self._jobs:
                    return
                job = self._jobs.pop()
            job()

    def __enter__(self) -> Settlers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        for thread in self._threads:
            thread.join()


# --- what it should do --------------------------------------------------------------------------------------------


def differences(plan: Plan, topology: Topology, journal: Journal) -> list[str]:
    """Where what happened is not what must happen; empty where all is well."""
    assignment = assign(topology)
    tasks = {bolt.name: assignment.tasks_of(bolt.name) for bolt in plan.bolts}
    handles = {bolt.name: _handle_of(bolt) for bolt in plan.bolts}
    found = interpret(topology.streams, tasks, sources_of(plan), handles)
    return [
        *_delivery_differences(found, journal),
        *_outcome_differences(plan, found, journal),
        *(
            f"key {key!r} of {stream} went to {ids}"
            for stream, key, ids in split_keys(topology.streams, journal.received)
        ),
    ]


def _handle_of(plan: BoltPlan) -> Callable[[Any], Iterable[Any]]:
    return lambda tuple_: _handle(plan, tuple_)


def _delivery_differences(found: Expected, journal: Journal) -> Iterator[str]:
    actual: dict[str, Counter[Any]] = {bolt: Counter() for bolt in found.deliveries}
    for bolt, _, _, tuple_ in journal.received:
        actual[bolt][tuple_] += 1
    for bolt, counts in found.deliveries.items():
        if missing := counts - actual[bolt]:
            yield f"{bolt} was not handed {missing}"
        if more := actual[bolt] - counts:
            yield f"{bolt} was handed {more} too many"


def _outcome_differences(plan: Plan, found: Expected, journal: Journal) -> Iterator[str]:
    settled: dict[tuple[str, int], list[Outcome]] = {}
    for spout, index, outcome in journal.settled:
        settled.setdefault((spout, index), []).append(outcome)
    for spout_plan in plan.spouts:
        for index in range(spout_plan.count if spout_plan.reliable else 0):
            outcomes = settled.pop((spout_plan.name, index), [])
            expected = found.outcomes[spout_plan.name][index] if plan.conf["acker_tasks"] else "acked"
            where = f"tuple {index} of {spout_plan.name}"
            if len(outcomes) != 1:
                yield f"{where} was settled {len(outcomes)} times: {outcomes}"
            elif outcomes[0] != expected and (plan.is_exact or expected == "nacked"):
                yield f"{where} was {outcomes[0]}; expected {expected}"
    if settled:
        yield f"settled but never emitted: {settled}"
