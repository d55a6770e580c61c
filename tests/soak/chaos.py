"""A random plan made into a topology whose user code fails, stalls and misbehaves in every way it can."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fsshelter_py import (
    END,
    Bolt,
    Collector,
    Delivery,
    DeliveryError,
    NackReason,
    Spout,
    Subscription,
    TaskContext,
    Tick,
    Topology,
    topology,
)
from fsshelter_py.model.grouping import GroupingKind
from tests.random_plan import BoltPlan, Plan, SpoutPlan, StreamPlan
from tests.soak.faults import Faults
from tests.soak.kept_queue import Feed, KeptQueue, Rules
from tests.soak.tally import Tally
from tests.soak.tree_book import SPAN, TreeBook, token_of

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
        components |= {bolt.name: _placed(self._bolt(bolt), bolt) for bolt in plan.bolts}
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

    def _pause(self, kind: str) -> float:
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
            time.sleep(self._pause("stall in next"))
            return take(feed)

        async def following_async(feed: Feed) -> Any:
            faults.crash("crash in next")
            await asyncio.sleep(self._pause("stall in next"))
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

    # --- bolts ------------------------------------------------------------------------------------------------------

    def _bolt(self, plan: BoltPlan) -> Bolt:
        faults, book, slow = self.faults, self.book, self.slow[plan.name]
        anchored = next(s.grouping.anchored for s in self.plan.streams if s.target == plan.name)

        def make_args(ctx: TaskContext) -> TaskContext:
            faults.crash("crash in make_args of a bolt")
            return ctx

        def emits(tuple_: Any, emit: Callable[[Any], None]) -> None:
            token, low = divmod(tuple_.n, SPAN)
            for index, cls in enumerate(plan.emits):
                out = cls((token if anchored else 0) * SPAN + (low * 31 + 17 * index + int(plan.name[1:])) % SPAN)
                book.due(token_of(out.n), self.deliveries(plan.name, out))
                emit(out)
                if index + 1 == plan.fails_after:
                    faults.crash("failed delivery")

        def handle(tuples: Sequence[Any], emit: Any) -> None:
            tokens = [token_of(tuple_.n) for tuple_ in tuples if not isinstance(tuple_, Tick)]
            if plan.style == "terminator":
                for token in tokens:
                    book.fail(token)
            try:
                if faults.hit("reset of a timeout"):
                    emit.reset_timeout()
                for tuple_ in tuples:
                    self.tally.count("deliveries")
                    if isinstance(tuple_, Tick):
                        self.tally.count("ticks")
                    else:
                        emits(tuple_, emit)
                faults.crash("failed delivery")
            except BaseException:
                for token in tokens:
                    book.fail(token)
                raise
            for token in tokens:
                book.done(token)

        def one(ctx: TaskContext, tuple_: Any, emit: Any) -> None:
            time.sleep(slow + self._pause("stall in a bolt"))
            handle([tuple_], emit)

        async def one_async(ctx: TaskContext, tuple_: Any, emit: Any) -> None:
            await asyncio.sleep(slow + self._pause("stall in a bolt"))
            handle([tuple_], emit)

        def batch(ctx: TaskContext, tuples: list[Any], emit: Any) -> None:
            time.sleep(slow + self._pause("stall in a bolt"))
            handle(tuples, emit)

        async def batch_async(ctx: TaskContext, tuples: list[Any], emit: Any) -> None:
            await asyncio.sleep(slow + self._pause("stall in a bolt"))
            handle(tuples, emit)

        def settle(delivery: Delivery[Any], collector: Collector[Any]) -> None:
            tuple_, token = delivery.tuple, token_of(delivery.tuple.n)
            try:
                time.sleep(slow)
                if faults.hit("reset of a timeout"):
                    collector.reset_timeout(delivery)
                if faults.hit("failed delivery"):
                    book.fail(token)
                    collector.fail(delivery, "injected: failed by hand")
                else:
                    try:
                        emits(tuple_, lambda out: collector.emit(out, anchors=[delivery]))
                    except DeliveryError:
                        raise
                    except BaseException as error:
                        book.fail(token)
                        collector.fail(delivery, error)
                    else:
                        book.done(token)
                        collector.ack(delivery)
            except DeliveryError:  # it has stopped meanwhile
                self.tally.count("settled too late")
                return
            if faults.hit("settled twice"):
                try:
                    collector.ack(delivery)
                except DeliveryError:
                    return
                self.tally.problem(f"{plan.name}: a second ack of a delivery was let pass")

        def manual(ctx: TaskContext, delivery: Delivery[Any], collector: Collector[Any]) -> None:
            self.tally.count("deliveries")
            if isinstance(delivery.tuple, Tick):
                self.tally.count("ticks")
                return
            pause = self._pause("stall in a bolt")
            if pause:
                time.sleep(pause)
            try:
                faults.crash("failed delivery")
            except BaseException:
                self.book.fail(token_of(delivery.tuple.n))
                raise
            if not faults.hit("never settled"):
                self.later(lambda: settle(delivery, collector))

        match plan.style:
            case "sync":
                bolt = Bolt.run(one, make_args=make_args)
            case "terminator":
                bolt = Bolt.run_terminator(one, make_args=make_args)
            case "async":
                bolt = Bolt.run(one_async, make_args=make_args).with_concurrency(plan.concurrency)
            case "batched":
                bolt = Bolt.run_batched(batch, max_size=plan.batch, max_wait=0.005, make_args=make_args)
            case "batched-async":
                bolt = Bolt.run_batched(batch_async, max_size=plan.batch, max_wait=0.005, make_args=make_args)
                bolt = bolt.with_concurrency(plan.concurrency)
            case _:
                bolt = Bolt.run_manual(manual, make_args=make_args)
        if plan.name in self.ticking:
            bolt = bolt.with_conf(tick_tuple_freq_secs=0.02)
            cls = next(s.grouping.cls for s in self.plan.streams if s.target == plan.name)
            bolt = bolt.with_activation(cls(1)).with_deactivation(cls(2))
        return bolt


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
