"""When a tree expires, when it does not, and whose name its reason bears. Time is the harness's clock throughout."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fsshelter_py import (
    END,
    Bolt,
    Collector,
    Delivery,
    Emit,
    EndOfInput,
    NackReason,
    Shuffle,
    Spout,
    TaskContext,
)
from fsshelter_py.execute.acker_task import AckerTask
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness
from tests.hostile.tools import NEVER, Log, block, chained
from tests.shapes import PLACEMENTS, Number, linked, numbers


def forward(number: Number, emit: Emit[Number]) -> None:
    emit(number)


class TimedSpout:
    """Emits a number when told to, and remembers when each was settled and how."""

    def __init__(self) -> None:
        self.harness: TopologyHarness
        self.waiting: list[int] = []
        self.emitted: dict[int, float] = {}
        self.settled: dict[int, tuple[float, NackReason | None]] = {}
        self.spout = Spout.run_reliable(self._next, make_acker=lambda ctx: (self._ack, self._nack)).with_conf(
            sleep_spout_wait_strategy_time_ms=1
        )

    def _next(self, ctx: TaskContext) -> tuple[int, Number] | None:
        if not self.waiting:
            return None
        number = self.waiting.pop()
        self.emitted[number] = self.harness.clock.now()
        return number, Number(number)

    def _ack(self, number: int) -> None:
        assert number not in self.settled
        self.settled[number] = self.harness.clock.now(), None

    def _nack(self, number: int, reason: NackReason) -> None:
        assert number not in self.settled
        self.settled[number] = self.harness.clock.now(), reason

    def reason(self, number: int) -> NackReason:
        reason = self.settled[number][1]
        assert reason is not None
        return reason


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_tree_expires_between_one_and_one_and_a_half_timeouts(placement: str) -> None:
    """Whenever it is emitted between two ticks, and wherever the tasks are."""
    source = TimedSpout()
    topology = linked((source.spout, NEVER), placement=placement, message_timeout_secs=4)
    with TopologyHarness(topology) as harness:
        source.harness = harness
        for number in range(20):
            source.waiting.append(number)
            harness.advance(0.37)
        harness.advance(6.1)
        for number, emitted in source.emitted.items():
            at, reason = source.settled[number]
            assert reason is not None
            assert reason.kind == "timeout"
            assert 4 <= at - emitted <= 6.01, number


def test_no_tick_that_comes_late_shortens_a_tree() -> None:
    """A timer held up before one tick does not hurry the next: two ticks are never closer than half the timeout."""
    source = TimedSpout()
    with TopologyHarness(linked((source.spout, NEVER), message_timeout_secs=4)) as harness:
        source.harness = harness
        harness.advance(1.9)
        source.waiting.append(1)
        harness.run_until_idle()
        harness.clock.advance(1.6)  # nobody has had a turn: the tick due at 2 comes at 3.5
        source.waiting.append(2)
        harness.advance(8)
        for number in (1, 2):
            assert source.settled[number][0] - source.emitted[number] >= 4


@pytest.mark.parametrize("target_executors", [None, 1])
def test_four_spouts_on_one_executor_see_no_expiry_of_work_within_the_timeout(target_executors: int | None) -> None:
    """A timeout of 4, and work of 3 for each of four, one after the other: ticks count once, and each tree its own."""
    given = [[0], [1], [2], [3]]

    def work(number: Number, emit: Emit[Number]) -> None:
        block(harness, 3)
        emit(number)

    def next(ctx: TaskContext) -> tuple[int, Number] | EndOfInput:
        mine = given[ctx.task_index]
        if not mine:
            return END
        n = mine.pop()
        return n, Number(n)

    acked: list[int] = []
    nacked: list[Any] = []
    spout = Spout.run_reliable(
        next, make_acker=lambda ctx: (acked.append, lambda n, reason: nacked.append(str(reason)))
    ).with_parallelism(4)
    sink = CollectBolt[Number]()
    sinks = sink.bolt.with_executors(target_executors) if target_executors else sink.bolt
    worker = Bolt.run(work)
    topology = linked((spout, worker), (worker, sinks), placement="shared", message_timeout_secs=4)
    with TopologyHarness(topology) as harness:
        harness.run_to_end()
        assert (sorted(acked), nacked) == ([0, 1, 2, 3], [])


def test_ticks_that_waited_behind_user_code_do_not_expire_what_was_tracked_since() -> None:
    """The acker's executor is blocked for three timeouts; a tree emitted at the end of that has its full time."""
    harness: TopologyHarness
    sink = CollectBolt[Number]()

    def work(number: Number, emit: Emit[Number]) -> None:
        if number.n == 0:
            block(harness, 12)
        emit(number)

    source = ListSpout(numbers(5))
    worker = Bolt.run(work)
    topology = linked(
        (source.spout, worker), (worker, sink.bolt.with_executors(1)), placement="shared", message_timeout_secs=4
    )
    with TopologyHarness(topology) as harness:
        harness.run_to_end()
    assert source.acked == numbers(5)[1:]
    [(late, reason)] = source.nacked
    assert (late, reason.kind) == (Number(0), "timeout")


def test_tree_that_lives_on_one_executor_expires_too_and_names_who_had_it_last() -> None:
    """No acker hears of it, so its executor counts the ticks."""
    harness: TopologyHarness

    def work(number: Number, emit: Emit[Number]) -> None:
        block(harness, 7 if number.n else 3)
        emit(number)

    source, worker, last = ListSpout(numbers(2)), Bolt.run(work), CollectBolt[Number]()
    with TopologyHarness(linked((source.spout, worker), (worker, last.bolt), message_timeout_secs=4)) as harness:
        summary = harness.run_to_end()
        assert source.acked == [Number(0)]
        [(late, reason)] = source.nacked
        assert (late, reason.kind, reason.component) == (Number(1), "timeout", "c2")
        assert summary.components["c0"].timed_out == 1


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("between", [0, 1, 2])
def test_expired_tree_names_the_component_that_it_came_to_last(placement: str, between: int) -> None:
    """That is where to look for it, directly after the spout as after others."""
    source = TimedSpout()
    bolts = [*(Bolt.run(forward).with_parallelism(2) for _ in range(between)), NEVER]
    topology = chained(source.spout, *bolts, placement=placement, message_timeout_secs=2)
    with TopologyHarness(topology) as harness:
        source.harness = harness
        source.waiting.append(0)
        harness.advance(3.1)
        reason = source.reason(0)
        assert (reason.kind, reason.component) == ("timeout", f"c{between + 1}")
        assert reason.task_id in harness.runtime.assignment.tasks_of(f"c{between + 1}")


def test_expired_tree_that_nobody_has_taken_yet_names_its_spout() -> None:
    """It waits in a ring."""
    harness: TopologyHarness
    source = TimedSpout()
    worker = Bolt.run(lambda number, emit: block(harness, 20, "c1-0") if number.n == 0 else None).with_executors(1)
    with TopologyHarness(linked((source.spout, worker), message_timeout_secs=2)) as harness:
        source.harness = harness
        source.waiting += [1, 0]
        harness.advance(25)
        assert source.reason(1).component == "c0"


def test_timeouts_are_counted_apart_from_failures() -> None:
    """``failed`` has both, ``timed_out`` only what was not settled in time."""

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        if delivery.tuple.n % 3 == 0:
            collector.fail(delivery, "no")
        elif delivery.tuple.n % 3 == 1:
            collector.ack(delivery)

    source = ListSpout(numbers(9))
    with TopologyHarness(linked((source.spout, Bolt.run_manual(consume)), message_timeout_secs=1)) as harness:
        summary = harness.run_to_end()
    spout = summary.components["c0"]
    assert (spout.acked, spout.failed, spout.timed_out) == (3, 6, 3)
    assert summary.nacks == {"failed": 3, "timeout": 3}


def test_ack_after_the_expiry_changes_nothing() -> None:
    """The tree was nacked; the late ack, and a late fail, are allowed and leave nothing behind."""
    deliveries: list[Delivery[Number]] = []
    collectors: list[Collector[Number]] = []

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        deliveries.append(delivery)
        collectors.append(collector)

    source = ListSpout(numbers(2))
    with TopologyHarness(linked((source.spout, Bolt.run_manual(consume)), message_timeout_secs=1)) as harness:
        harness.advance(1.6)
        assert len(source.nacked) == 2
        collectors[0].ack(deliveries[0])
        collectors[1].fail(deliveries[1])
        summary = harness.run_to_end()
        assert source.acked == []
        assert [reason.kind for _, reason in source.nacked] == ["timeout", "timeout"]
        assert (summary.acked, summary.failed) == (0, 2)


# --- keeping a tree alive -------------------------------------------------------------------------------------------


def sync_worker(work: Callable[[Number, Callable[[], None]], None]) -> Bolt:
    def consume(number: Number, emit: Emit[Number]) -> None:
        work(number, emit.reset_timeout)
        emit(number)

    return Bolt.run(consume)


def batched_worker(work: Callable[[Number, Callable[[], None]], None]) -> Bolt:
    def consume(batch: list[Number], emit: Emit[Number]) -> None:
        work(batch[0], emit.reset_timeout)
        for number in batch:
            emit(number)

    return Bolt.run_batched(consume, max_size=2, max_wait=0.1)


def manual_worker(work: Callable[[Number, Callable[[], None]], None]) -> Bolt:
    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        work(delivery.tuple, lambda: collector.reset_timeout(delivery))
        collector.emit(delivery.tuple, [delivery])
        collector.ack(delivery)

    return Bolt.run_manual(consume)


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("where", ["with the spout", "on its own"])
@pytest.mark.parametrize("make_worker", [sync_worker, batched_worker, manual_worker])
def test_reset_timeout_keeps_a_tree_alive(
    make_worker: Callable[[Callable[[Number, Callable[[], None]], None]], Bolt], where: str, resets: bool
) -> None:
    """Work of 20 under a timeout of 4, handed on at the end to a bolt that takes its time too, also by an acker."""
    harness: TopologyHarness

    def work(number: Number, reset: Callable[[], None]) -> None:
        for _ in range(10):
            block(harness, 2, "c1-0" if where == "on its own" else "shared")
            if resets:
                reset()

    source, worker, last = ListSpout(numbers(2)), make_worker(work), CollectBolt[Number]()
    if where == "on its own":
        worker = worker.with_executors(1)
    topology = linked((source.spout, worker), (worker, last.bolt.with_executors(1)), message_timeout_secs=4)
    with TopologyHarness(topology.with_conf(max_spout_pending=2)) as harness:
        harness.run_to_end()
    # Batched, the first and the second are one piece of work; else the second waits while the first is worked on.
    assert (Number(0) in source.acked) == resets


@pytest.mark.parametrize("resets", [True, False])
def test_reset_timeout_keeps_the_tree_of_a_coroutine_alive(resets: bool) -> None:
    """The same for a coroutine, whose executor goes on meanwhile."""

    async def consume(number: Number, emit: Emit[Number]) -> None:
        for _ in range(10):
            await asyncio.sleep(2)
            if resets:
                emit.reset_timeout()

    source = ListSpout(numbers(2))
    topology = linked((source.spout, Bolt.run(consume).with_concurrency(2)), message_timeout_secs=4)
    with TopologyHarness(topology) as harness:
        harness.run_to_end()
    assert len(source.acked) == (2 if resets else 0)


@pytest.mark.parametrize("mode", ["emit", "progress"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_progress_mode_counts_from_the_last_progress(placement: str, mode: str) -> None:
    """Five bolts take 3 each, 15 in all, under a timeout of 4."""

    async def consume(number: Number, emit: Emit[Number]) -> None:
        await asyncio.sleep(3)
        emit(number)

    source = ListSpout(numbers(3))
    bolts = [*(Bolt.run(consume).with_concurrency(3) for _ in range(5)), CollectBolt[Number]().bolt]
    topology = chained(source.spout, *bolts, placement=placement, message_timeout_secs=4, timeout_mode=mode)
    with TopologyHarness(topology) as harness:
        harness.run_to_end()
    assert (len(source.acked), len(source.nacked)) == ((3, 0) if mode == "progress" else (0, 3))


def test_progress_mode_expires_what_makes_none() -> None:
    """It renews, it does not switch off."""
    source = TimedSpout()
    topology = linked((source.spout, NEVER), message_timeout_secs=4, timeout_mode="progress")
    with TopologyHarness(topology) as harness:
        source.harness = harness
        source.waiting.append(1)
        harness.advance(6.1)
        assert source.reason(1).kind == "timeout"


# --- without timeouts -----------------------------------------------------------------------------------------------


def test_without_timeouts_nothing_expires_and_the_log_says_so_once() -> None:
    """A delivery may be kept for as long as the bolt likes, and acked then."""
    kept: list[tuple[Delivery[Number], Collector[Number]]] = []
    log, source = Log(), ListSpout(numbers(3))
    keeper = Bolt.run_manual(lambda delivery, collector: kept.append((delivery, collector)))
    topology = linked((source.spout, keeper), message_timeout_secs=1, enable_message_timeouts=False)
    with TopologyHarness(topology, start_log=log.start_log) as harness:
        harness.advance(1000)
        assert len(log.named("message_timeouts_disabled")) == 1
        assert log.named("delivery_not_settled_in_time") == []
        for delivery, collector in kept:
            collector.ack(delivery)
        assert harness.run_to_end().ok
    assert len(source.acked) == 3


def test_without_timeouts_a_blocked_executor_expires_nothing_of_its_own_either() -> None:
    """Ticks go on, for the acker to forget by; nobody's time is counted in them."""
    harness: TopologyHarness
    source = ListSpout(numbers(2))
    worker = Bolt.run(lambda number, emit: block(harness, 10))
    topology = linked((source.spout, worker), message_timeout_secs=1, enable_message_timeouts=False)
    with TopologyHarness(topology) as harness:
        assert harness.run_to_end().ok


def test_without_timeouts_the_acker_still_forgets_what_is_never_tracked() -> None:
    """A source tuple that failed where it began leaves what it sent elsewhere; those acks are of no tree."""

    def fail(number: Number, emit: Emit[Number]) -> None:
        raise ValueError("no")

    source, here, there = ListSpout(numbers(100)), Bolt.run(fail), CollectBolt[Number]()
    topology = linked(
        (source.spout, there.bolt.with_executors(1)),
        (source.spout, here),
        message_timeout_secs=1,
        enable_message_timeouts=False,
    )
    with TopologyHarness(topology) as harness:
        harness.run_until_idle()
        assert len(source.nacked) == 100
        acker: AckerTask = next(iter(harness.runtime.acker_tasks.values()))
        assert len(acker.acker._trees) == 100
        harness.advance(2)
        assert len(acker.acker._trees) == 0


def test_bolt_that_fails_before_the_track_is_sent_still_nacks() -> None:
    """A bolt that fails in the turn in which its tuple was emitted is heard of together with the track: nacked once."""

    async def fail(number: Number, emit: Emit[Number]) -> None:
        raise ValueError("no")

    source = ListSpout(numbers(10))
    spout = source.spout
    both = [Bolt.run(fail), Bolt.run(fail).with_executors(1), CollectBolt[Number]().bolt.with_executors(1)]
    with TopologyHarness(linked(*((spout, bolt, Shuffle.on(Number)) for bolt in both), placement="shared")) as harness:
        harness.run_to_end()
    assert len(source.nacked) == 10
    assert source.acked == []
