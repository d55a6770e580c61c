"""The stepped topology: the same each time for one seed, in the time of its own clock."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from fsshelter_py import (
    Bolt,
    ComponentError,
    Delivery,
    Emit,
    Group,
    Shuffle,
    Spout,
    TaskContext,
    Tick,
    Topology,
    topology,
)
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness


@dataclass(frozen=True)
class Number:
    n: int


def through(source: Spout, middle: Bolt, sink: Bolt | None = None, **conf: Any) -> Topology:
    """source >> middle, and >> sink where there is one."""

    @topology("through")
    def build():  # type: ignore[no-untyped-def]
        numbers = source
        worker = middle
        yield numbers >> worker | Shuffle.on(Number)
        if sink is not None:
            collector = sink
            yield worker >> collector | Group.by(Number, "n")

    return build().with_conf(**conf)


def forward(tuple_: Number, emit: Emit[Number]) -> None:
    emit(tuple_)


def test_runs_to_the_end_without_a_thread() -> None:
    """Every tuple is handled by the thread of the test."""
    source, sink = ListSpout([Number(n) for n in range(500)]), CollectBolt[Number]()
    handled_by = set()

    def work(tuple_: Number, emit: Emit[Number]) -> None:
        handled_by.add(threading.current_thread())
        emit(tuple_)

    before = threading.active_count()
    middle = Bolt.run(work).with_parallelism(3)
    with TopologyHarness(through(source.spout, middle, sink.bolt, executor_receive_buffer_size=4)) as harness:
        assert threading.active_count() == before
        summary = harness.run_to_end()
        assert harness.is_ended
    assert summary.ok
    assert summary.state == "stopped"
    assert len(source.acked) == len(sink.tuples) == 500
    assert handled_by == {threading.current_thread()}


def test_seed_decides_the_order() -> None:
    """One seed gives the same deliveries in the same order, another gives another order."""

    def run(seed: int) -> list[tuple[int, Number]]:
        source, sink = ListSpout([Number(n) for n in range(200)]), CollectBolt[Number]()
        middle = Bolt.run(forward).with_parallelism(4)
        with TopologyHarness(through(source.spout, middle, sink.bolt), seed) as harness:
            harness.run_to_end()
        return sink.received

    assert run(1) == run(1)
    assert len({tuple(run(seed)) for seed in range(4)}) > 1


def test_async_components_follow_the_clock() -> None:
    """A sleep of an hour in user code takes no time, and ends when the clock says so."""
    source, sink = ListSpout([Number(1)]), CollectBolt[Number]()

    async def slow(tuple_: Number, emit: Emit[Number]) -> None:
        await asyncio.sleep(3600)
        emit(tuple_)

    topology = through(source.spout, Bolt.run(slow), sink.bolt, enable_message_timeouts=False)
    with TopologyHarness(topology) as harness:
        harness.advance(3599)
        assert sink.tuples == []
        harness.advance(2)
        assert sink.tuples == source.acked == [Number(1)]


def test_tick_tuples_and_expiries_come_with_the_clock() -> None:
    """Half a minute short of the timeout nothing is nacked; half a minute past 1.5 times it is."""
    source = ListSpout([Number(1)])
    ticks = []

    def keep(delivery: Delivery[Number | Tick], collector: object) -> None:
        if isinstance(delivery.tuple, Tick):
            ticks.append(delivery.tuple.number)

    bolt = Bolt.run_manual(keep).with_conf(tick_tuple_freq_secs=10)
    with TopologyHarness(through(source.spout, bolt, message_timeout_secs=60)) as harness:
        harness.advance(59)
        assert source.nacked == []
        assert ticks == [1, 2, 3, 4, 5]
        harness.advance(31)
        ((_, reason),) = source.nacked
        assert reason.kind == "timeout"
        assert ticks == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_batch_waits_for_its_time() -> None:
    """It is neither full nor is its first tuple old enough; then it is."""
    batches = []
    answers: list[Number | None] = [Number(1), Number(2)]
    spout = Spout.run_unreliable(lambda ctx: answers.pop(0) if answers else None)
    bolt = Bolt.run_batched(lambda tuples, emit: batches.append(tuples), max_size=10, max_wait=5.0)
    with TopologyHarness(through(spout, bolt)) as harness:
        harness.advance(4.9)
        assert batches == []
        harness.advance(0.2)
        assert batches == [[Number(1), Number(2)]]


def test_unhandled_error_is_raised_by_the_step_that_met_it() -> None:
    """Once; what was unsettled is nacked as stopped on the way out."""
    nacked = []
    answers: list[Callable[[], Any]] = [lambda: ("key", Number(1)), lambda: 1 / 0]
    spout = Spout.run_reliable(
        lambda ctx: answers.pop(0)(),
        make_acker=lambda ctx: (lambda key: None, lambda key, reason: nacked.append((key, reason.kind))),
    )
    bolt = Bolt.run_manual(lambda delivery, collector: None)
    with TopologyHarness(through(spout, bolt)) as harness:
        with pytest.raises(ComponentError, match=r"numbers.*ZeroDivisionError"):
            harness.run_until_idle()
        assert harness.stats().state == "failed"
    assert nacked == [("key", "stopped")]


def test_stop_nacks_what_is_unsettled_and_deactivates() -> None:
    """The drain takes the clock's time, not the test's."""
    events = []
    answers: list[Any] = [("key", Number(1))]

    def make_acker(ctx: TaskContext) -> tuple[Callable[[str], None], Callable[..., None]]:
        return lambda key: None, lambda key, reason: events.append(reason.kind)

    spout = Spout.run_reliable(
        lambda ctx: answers.pop() if answers else None,
        make_acker=make_acker,
        deactivate=lambda ctx: events.append("deactivated"),
    )
    with TopologyHarness(through(spout, Bolt.run_manual(lambda delivery, collector: None))) as harness:
        harness.run_until_idle()
        assert harness.stats().pending == 1
        summary = harness.stop(timeout=10)
        assert harness.clock.now() >= 10
    assert events == ["stopped", "deactivated"]
    assert summary.nacks == {"stopped": 1}
    assert summary.state == "stopped"


def test_run_to_end_gives_up_when_nothing_ends() -> None:
    """An idle spout never says END."""
    idle = Spout.run_unreliable(lambda ctx: None)
    with (
        TopologyHarness(through(idle, Bolt.run(forward))) as harness,
        pytest.raises(TimeoutError, match="not ended after 5 s of its clock"),
    ):
        harness.run_to_end(max_secs=5)


def test_busy_topology_is_not_waited_for_endlessly() -> None:
    """An unreliable spout that always has something never lets it idle."""
    busy = Spout.run_unreliable(lambda ctx: Number(1))
    with (
        TopologyHarness(through(busy, Bolt.run(lambda tuple_, emit: None))) as harness,
        pytest.raises(TimeoutError, match="still busy after 50 steps"),
    ):
        harness.run_until_idle(max_steps=50)


def test_task_may_ask_to_stop() -> None:
    """ctx.stop() ends run_to_end."""

    def stop(ctx: TaskContext, tuple_: Number, emit: Emit[None]) -> None:
        ctx.stop()

    answers = [Number(1)]
    spout = Spout.run_unreliable(lambda ctx: answers.pop() if answers else None)
    with TopologyHarness(through(spout, Bolt.run(stop, make_args=lambda ctx: ctx))) as harness:
        assert harness.run_to_end().state == "stopped"
        assert not harness.is_ended
