"""A random plan made into a topology whose user code fails, stalls and misbehaves in every way it can."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fsshelter_py import (
    END,
    NackReason,
    Spout,
    Subscription,
    TaskContext,
    Topology,
    topology,
)
from fsshelter_py.model.grouping import GroupingKind
from tests.random_plan import BoltPlan, Plan, SpoutPlan, StreamPlan
from tests.soak.bad_bolts import make_bolt
from tests.soak.faults import Faults
from tests.soak.kept_queue import Feed, KeptQueue, Rules
from tests.soak.tally import Tally
from tests.soak.tree_book import SPAN, TreeBook

__all__ = ["Chaos", "with_one_anchoring_a_bolt"]


@dataclass
class Chaos:
    """The parts of one case's topology, and what outlives its restarts.

    later: runs what it is given, now or in another thread. slow: seconds each delivery takes, by bolt.
    stall: seconds a stall lasts at least and at most. replayed: the spouts that replay by themselves, from a list.
    contexts: of the spout tasks of the present run.
    """

    plan: Plan
    rules: Rules
    attempts: int
    slow: dict[str, float]
    stall: tuple[float, float]
    replayed: frozenset[str]
    ticking: frozenset[str]
    faults: Faults
    tally: Tally
    later: Callable[[Callable[[], None]], None]
    book: TreeBook = field(default_factory=TreeBook)
    queues: dict[str, KeptQueue] = field(default_factory=dict)
    contexts: list[TaskContext] = field(default_factory=list)

    def build(self) -> Topology:
        """The topology; once."""
        plan = self.plan
        components: dict[str, Any] = {spout.name: _placed(self._spout(spout), spout) for spout in plan.spouts}
        components |= {bolt.name: _placed(make_bolt(self, bolt), bolt) for bolt in plan.bolts}
        subscriptions = [components[s.source] >> components[s.target] | s.grouping for s in plan.streams]

        @topology("soak")
        def soak() -> Iterator[Subscription]:
            yield from subscriptions

        return soak().with_conf(plan.conf)

    def deliveries(self, source: str, tuple_: Any) -> int:
        """How many deliveries an emit makes."""
        return sum(
            _copies(stream, tuple_, self._parallelism(stream.target))
            for stream in self.plan.streams
            if stream.source == source and stream.grouping.cls is type(tuple_)
        )

    def _parallelism(self, bolt: str) -> int:
        return next(plan.parallelism for plan in self.plan.bolts if plan.name == bolt)

    def pause(self, kind: str) -> float:
        """Seconds to be stuck for now, mostly 0."""
        return self.faults.between(*self.stall) if self.faults.hit(kind) else 0.0

    # --- spouts -----------------------------------------------------------------------------------------------------

    def _spout(self, plan: SpoutPlan) -> Spout:
        if plan.name in self.replayed:
            return self._replaying(plan)
        if plan.reliable:
            return self._reliable(plan)
        return self._unreliable(plan)

    def _make_args(self, ctx: TaskContext) -> TaskContext:
        self.faults.crash("crash in make_args of a spout")
        self.contexts.append(ctx)
        return ctx

    def _reliable(self, plan: SpoutPlan) -> Spout:
        queue = self.queues[plan.name] = KeptQueue(
            plan.name, plan.count, self.attempts, self.rules, self.book, self.tally
        )
        faults = self.faults

        def make_args(ctx: TaskContext) -> Feed:
            self._make_args(ctx)
            return queue.feed()

        def take(feed: Feed) -> Any:
            if faults.hit("stop by a task"):
                self.contexts[-1].stop()
            if faults.hit("nothing now"):
                return None
            taken = queue.take(feed)
            if taken is None or taken is END:
                return taken
            token, number = taken
            cls = plan.emits[number % len(plan.emits)]
            tuple_ = cls(token * SPAN + number)
            self.book.due(token, self.deliveries(plan.name, tuple_))
            return token, tuple_

        def following(feed: Feed) -> Any:
            faults.crash("crash in next")
            time.sleep(self.pause("stall in next"))
            return take(feed)

        async def following_async(feed: Feed) -> Any:
            faults.crash("crash in next")
            await asyncio.sleep(self.pause("stall in next"))
            return take(feed)

        def make_acker(feed: Feed) -> tuple[Callable[[int], Any], Callable[[int, NackReason], Any]]:
            async def crash_later(kind: str) -> None:
                await asyncio.sleep(0)
                faults.crash(kind)

            async def put_back_later(number: int, attempts: int) -> None:
                try:
                    await asyncio.sleep(0)
                    faults.crash("crash in nack")
                finally:
                    queue.put_back(number, attempts)

            def ack(token: int) -> Any:
                queue.ack(feed, token)
                if plan.is_async:
                    return crash_later("crash in ack")
                faults.crash("crash in ack")
                return None

            def nack(token: int, reason: NackReason) -> Any:
                taken = queue.nack(feed, token, reason)
                if taken is None:
                    return None
                if plan.is_async:
                    return put_back_later(*taken)
                queue.put_back(*taken)
                faults.crash("crash in nack")
                return None

            return ack, nack

        def deactivate(feed: Feed) -> None:
            queue.close(feed)
            faults.crash("crash in deactivate")

        next_: Any = following_async if plan.is_async else following
        return Spout.run_reliable(next_, make_args=make_args, make_acker=make_acker, deactivate=deactivate)

    def _untracked(self, plan: SpoutPlan, ctx: TaskContext) -> Iterator[Any]:
        for number in range(ctx.task_index, plan.count, ctx.task_count):
            self.tally.count("tuples")
            yield plan.emits[number % len(plan.emits)](number)

    def _replaying(self, plan: SpoutPlan) -> Spout:
        def items(ctx: TaskContext) -> Iterator[Any]:
            return self._untracked(plan, self._make_args(ctx))

        return Spout.replaying(items, max_attempts=min(self.attempts, 4), backoff=lambda attempt: 0.002 * attempt)

    def _unreliable(self, plan: SpoutPlan) -> Spout:
        def make_args(ctx: TaskContext) -> Iterator[Any]:
            return self._untracked(plan, self._make_args(ctx))

        def following(items: Iterator[Any]) -> Any:
            self.faults.crash("crash in next")
            return next(items, END)

        async def following_async(items: Iterator[Any]) -> Any:
            await asyncio.sleep(0)
            return following(items)

        next_: Any = following_async if plan.is_async else following
        return Spout.run_unreliable(next_, make_args=make_args)


def with_one_anchoring_a_bolt(plan: Plan) -> Plan:
    """A plan in which a bolt knows, without asking where a tuple came from, whether what it emits joins its tree."""
    anchored: dict[str, bool] = {}
    for stream in plan.streams:
        anchored.setdefault(stream.target, stream.grouping.anchored)
    streams = [replace(s, grouping=replace(s.grouping, anchored=anchored[s.target])) for s in plan.streams]
    return replace(plan, streams=tuple(streams))


def _placed(component: Any, plan: SpoutPlan | BoltPlan) -> Any:
    placed = component.with_name(plan.name).with_parallelism(plan.parallelism)
    return placed if plan.executors is None else placed.with_executors(plan.executors)


def _copies(stream: StreamPlan, tuple_: Any, parallelism: int) -> int:
    match stream.grouping.kind:
        case GroupingKind.ALL:
            return parallelism
        case GroupingKind.DIRECT:
            return 0
        case GroupingKind.CUSTOM:
            assert stream.grouping.choose is not None
            chosen = stream.grouping.choose(tuple_, range(parallelism))
            return len(set(chosen)) if isinstance(chosen, Iterable) else 1
        case _:
            return 1
