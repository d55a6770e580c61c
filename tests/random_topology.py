"""Topologies drawn at random, and what becomes of them: for the random-topology test and for soaking.

``build`` makes the topology of a plan, with a journal of all that happens; ``differences`` compares that with what the
reference interpreter says.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from fsshelter_py import END, Bolt, Collector, Delivery, Emit, Spout, Subscription, Topology, topology
from fsshelter_py.build.assignment import assign
from tests.random_plan import BoltPlan, Plan, SpoutPlan, StreamPlan, draw_plan, handle, sources_of
from tests.reference import FAIL, Expected, Outcome, interpret, split_keys

__all__ = [
    "BoltPlan",
    "Journal",
    "Plan",
    "Settlers",
    "SpoutPlan",
    "StreamPlan",
    "build",
    "differences",
    "draw_plan",
]

T = TypeVar("T")

Later: TypeAlias = Callable[[Callable[[], None]], None]
"""Does what it is given, now or later, in this thread or in another."""


class Book(Protocol[T]):
    """A list that is only appended to, and read in the end."""

    def append(self, entry: T, /) -> None: ...
    def __iter__(self) -> Iterator[T]: ...
    def __len__(self) -> int: ...


@dataclass
class Journal:
    """All that happened. Written by many threads: each entry is one append."""

    received: Book[tuple[str, str, int, Any]] = field(default_factory=list)
    """(bolt, stream, task, tuple) of each delivery."""
    settled: Book[tuple[str, int, Outcome]] = field(default_factory=list)
    """(spout, index of the tuple, outcome) of each source tuple."""


def build(plan: Plan, later: Later, journal: Journal | None = None) -> tuple[Topology, Journal]:
    """The topology of a plan. later: how its manual bolts settle. journal: where all is entered, else a new one."""
    journal = journal if journal is not None else Journal()
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

    def consume(ctx: Any, tuple_: Any, emit: Emit[Any]) -> None:
        receive(ctx, tuple_)
        for emitted in handle(plan, tuple_):
            if emitted is FAIL:
                if plan.style != "terminator":
                    raise ValueError(f"{plan.name} fails {tuple_}")
            else:
                emit(emitted)

    async def handle_async(ctx: Any, tuple_: Any, emit: Emit[Any]) -> None:
        for _ in range(tuple_.n % 3):
            await asyncio.sleep(0)
        consume(ctx, tuple_, emit)

    def handle_batch(ctx: Any, tuples: list[Any], emit: Emit[Any]) -> None:
        for tuple_ in tuples:
            consume(ctx, tuple_, emit)

    async def handle_batch_async(ctx: Any, tuples: list[Any], emit: Emit[Any]) -> None:
        await asyncio.sleep(0)
        handle_batch(ctx, tuples, emit)

    def settle(delivery: Delivery[Any], collector: Collector[Any]) -> None:
        for emitted in handle(plan, delivery.tuple):
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
            bolt = Bolt.run(consume, make_args=_itself)
        case "terminator":
            bolt = Bolt.run_terminator(consume, make_args=_itself)
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
    return lambda tuple_: handle(plan, tuple_)


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
