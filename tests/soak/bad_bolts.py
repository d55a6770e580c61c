"""Bolts that fail, stall, settle late, twice or never, and count what they do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fsshelter_py import Bolt, Collector, Delivery, DeliveryError, TaskContext, Tick
from tests.random_plan import BoltPlan
from tests.soak.tree_book import SPAN, token_of

if TYPE_CHECKING:
    from tests.soak.chaos import Chaos

__all__ = ["make_bolt"]


def make_bolt(chaos: Chaos, plan: BoltPlan) -> Bolt:
    """The bolt of a plan."""
    faults, book, slow = chaos.faults, chaos.book, chaos.slow[plan.name]
    anchored = next(s.grouping.anchored for s in chaos.plan.streams if s.target == plan.name)

    def make_args(ctx: TaskContext) -> TaskContext:
        faults.crash("crash in make_args of a bolt")
        return ctx

    def emits(tuple_: Any, emit: Callable[[Any], None]) -> None:
        token, low = divmod(tuple_.n, SPAN)
        for index, cls in enumerate(plan.emits):
            out = cls((token if anchored else 0) * SPAN + (low * 31 + 17 * index + int(plan.name[1:])) % SPAN)
            book.due(token_of(out.n), chaos.deliveries(plan.name, out))
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
                chaos.tally.count("deliveries")
                if isinstance(tuple_, Tick):
                    chaos.tally.count("ticks")
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
        time.sleep(slow + chaos.pause("stall in a bolt"))
        handle([tuple_], emit)

    async def one_async(ctx: TaskContext, tuple_: Any, emit: Any) -> None:
        await asyncio.sleep(slow + chaos.pause("stall in a bolt"))
        handle([tuple_], emit)

    def batch(ctx: TaskContext, tuples: list[Any], emit: Any) -> None:
        time.sleep(slow + chaos.pause("stall in a bolt"))
        handle(tuples, emit)

    async def batch_async(ctx: TaskContext, tuples: list[Any], emit: Any) -> None:
        await asyncio.sleep(slow + chaos.pause("stall in a bolt"))
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
            chaos.tally.count("settled too late")
            return
        if faults.hit("settled twice"):
            try:
                collector.ack(delivery)
            except DeliveryError:
                return
            chaos.tally.problem(f"{plan.name}: a second ack of a delivery was let pass")

    def manual(ctx: TaskContext, delivery: Delivery[Any], collector: Collector[Any]) -> None:
        chaos.tally.count("deliveries")
        if isinstance(delivery.tuple, Tick):
            chaos.tally.count("ticks")
            return
        pause = chaos.pause("stall in a bolt")
        if pause:
            time.sleep(pause)
        try:
            faults.crash("failed delivery")
        except BaseException:
            chaos.book.fail(token_of(delivery.tuple.n))
            raise
        if not faults.hit("never settled"):
            chaos.later(lambda: settle(delivery, collector))

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
    if plan.name in chaos.ticking:
        bolt = bolt.with_conf(tick_tuple_freq_secs=0.02)
        cls = next(s.grouping.cls for s in chaos.plan.streams if s.target == plan.name)
        bolt = bolt.with_activation(cls(1)).with_deactivation(cls(2))
    return bolt
