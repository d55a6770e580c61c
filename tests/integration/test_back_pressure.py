"""Full rings: nothing is lost, nothing stalls, nothing overtakes."""

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fsshelter_py import (
    END,
    All,
    Bolt,
    Collector,
    Delivery,
    Emit,
    Group,
    Grouping,
    Shuffle,
    Spout,
    TaskContext,
    run_no_restart,
)
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness, run_to_end
from tests.shapes import PLACEMENTS, Letter, Number, linked, numbers


def forward(tuple_: Number, emit: Emit[Number]) -> None:
    emit(tuple_)


def test_rings_of_eight_with_a_thousand_pending_and_a_stalled_bolt() -> None:
    """The other bolt goes on while one is stalled, as far as its ring lets it; then everything arrives."""
    go, entered = threading.Event(), threading.Event()

    def stall(tuple_: Number, emit: Emit[None]) -> None:
        entered.set()
        assert go.wait(60)

    source, sink = ListSpout(numbers(1000)), CollectBolt[Number]()
    forwarder = Bolt.run(forward).with_executors(1)
    topology = linked(
        (source.spout.with_executors(1), forwarder),
        (forwarder, Bolt.run(stall).with_executors(1)),
        (forwarder, sink.bolt.with_executors(1)),
        executor_receive_buffer_size=8,
        max_spout_pending=1000,
    )
    with run_no_restart(topology) as hosted:
        assert entered.wait(60)
        sink.wait_for(8)
        assert source.acked == []
        go.set()
        assert hosted.wait(60).ok
    assert sink.tuples == numbers(1000)
    assert len(source.acked) == 1000


def test_acks_arrive_while_data_is_blocked() -> None:
    """Control passes full rings: a spout whose one bolt is stalled still hears of what another has done."""
    go, acked = threading.Event(), threading.Event()

    def stall(letter: Letter, emit: Emit[None]) -> None:
        assert go.wait(60)

    answers: list[Any] = [(0, Number(0)), *((n, Letter("x", n)) for n in range(1, 60))]
    spout = Spout.run_reliable(
        lambda ctx: answers.pop(0) if answers else END,
        make_acker=lambda ctx: (lambda key: acked.set() if key == 0 else None, lambda key: None),
    ).with_executors(1)
    late = threading.Event()

    def wait_a_little(tuple_: Number, emit: Emit[None]) -> None:
        assert late.wait(60)

    topology = linked(
        (spout, Bolt.run(stall).with_executors(1), Shuffle.on(Letter)),
        (spout, Bolt.run(wait_a_little).with_executors(1)),
        executor_receive_buffer_size=1,
        placement="per-task",
    )
    with run_no_restart(topology) as hosted:
        late.set()
        assert acked.wait(60)
        assert not go.is_set()
        go.set()
        assert hosted.wait(60).ok


@pytest.mark.parametrize("size", [1, 2, 8])
def test_executors_that_feed_each_other_do_not_deadlock(size: int) -> None:
    """The first and the third bolt share an executor, the second is on another, and every ring is full."""

    def triple(tuple_: Number, emit: Emit[Number]) -> None:
        for _ in range(3):
            emit(tuple_)

    first, second, third = Bolt.run(triple), Bolt.run(triple).with_executors(1), Bolt.run(triple)
    fourth = Bolt.run(forward).with_executors(1)
    for pairs in (1, 3):
        source, sink = ListSpout(numbers(100)), CollectBolt[Number]()
        second, fourth = (bolt.with_parallelism(pairs) for bolt in (second, fourth))
        topology = linked(
            (source.spout, first),
            (first, second),
            (second, third),
            (third, fourth),
            (fourth, sink.bolt),
            executor_receive_buffer_size=size,
            max_spout_pending=1000,
            placement="shared",
        )
        summary = run_to_end(topology)
        assert summary.ok
        assert (summary.acked, len(sink.tuples)) == (100, 2700)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_full_rings_stall_no_unreliable_spout_for_good(placement: str) -> None:
    """Rings of one slot, and hundreds of tuples that nobody acks."""
    answers = numbers(800)
    sink, second = CollectBolt[Number](), CollectBolt[Number]()
    spout = Spout.run_unreliable(lambda ctx: answers.pop() if answers else END)
    topology = linked(
        (spout, sink.bolt.with_parallelism(3), All.on(Number)),
        (spout, second.bolt.with_parallelism(2)),
        executor_receive_buffer_size=1,
        max_spout_pending=8,
        placement=placement,
    )
    assert run_to_end(topology).ok
    assert (len(sink.tuples), len(second.tuples)) == (2400, 800)


def test_coroutines_that_are_behind_hold_back_the_spout() -> None:
    """Jobs that wait are bounded by the size of the ring, though the spout is unreliable and on the same executor."""
    emitted = itertools.count()
    gates: list[Any] = []

    async def wait(tuple_: Number, emit: Emit[None]) -> None:
        gate = asyncio.Event()
        gates.append(gate)
        await gate.wait()

    async def following(ctx: TaskContext) -> Number:
        return Number(next(emitted))

    bolt = Bolt.run(wait)
    with TopologyHarness(linked((Spout.run_unreliable(following), bolt), executor_receive_buffer_size=4)) as harness:
        harness.run_until_idle()
        held = next(emitted)
        assert held <= 8
        for _ in range(5):
            gates[-1].set()
            harness.run_until_idle()
        assert next(emitted) > held + 1


Emitting = Callable[[], Bolt]


def sync() -> Bolt:
    def consume(marks: Any, tuple_: Number, emit: Emit[Letter]) -> None:
        for _ in range(tuple_.n % 4):
            emit(next(marks))

    return Bolt.run(consume, make_args=_marks)


def coroutine() -> Bolt:
    async def consume(marks: Any, tuple_: Number, emit: Emit[Letter]) -> None:
        for _ in range(tuple_.n % 4):
            emit(next(marks))

    return Bolt.run(consume, make_args=_marks)


def batched() -> Bolt:
    def consume(marks: Any, tuples: list[Number], emit: Emit[Letter]) -> None:
        for _ in range(sum(t.n % 4 for t in tuples)):
            emit(next(marks))

    return Bolt.run_batched(consume, make_args=_marks, max_size=3, max_wait=0.001)


def manual() -> Bolt:
    def consume(marks: Any, delivery: Delivery[Number], collector: Collector[Letter]) -> None:
        for _ in range(delivery.tuple.n % 4):
            collector.emit(next(marks), anchors=[delivery])
        collector.ack(delivery)

    return Bolt.run_manual(consume, make_args=_marks)


def _marks(ctx: TaskContext) -> Any:
    return (Letter(str(ctx.task_id), n) for n in itertools.count())


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("size", [1, 8, 1024])
@pytest.mark.parametrize("emitting", [sync, coroutine, batched, manual])
def test_order_is_kept_between_one_emitting_and_one_receiving_task(
    emitting: Emitting, size: int, placement: str
) -> None:
    """Whatever the kind of bolt, the placement and the ring; some of the receivers fail."""
    groupings: list[Grouping] = [Shuffle.on(Letter), Group.by(Letter, "n"), All.on(Letter).unanchored()]
    source, bolt = ListSpout(numbers(120)), emitting().with_parallelism(2)
    sinks = [CollectBolt[Letter](fail_when=lambda letter: letter.n % 11 == 0) for _ in groupings]
    run_to_end(
        linked(
            (source.spout.with_parallelism(2), bolt),
            *((bolt, sink.bolt.with_parallelism(2), grouping) for sink, grouping in zip(sinks, groupings, strict=True)),
            executor_receive_buffer_size=size,
            placement=placement,
        )
    )
    assert len(source.acked) + len(source.nacked) == 120
    for sink, copies in zip(sinks, (1, 1, 2), strict=True):
        assert len(sink.tuples) == copies * 180
        between: dict[tuple[str, int], list[int]] = {}
        for task_id, letter in sink.received:
            between.setdefault((letter.text, task_id), []).append(letter.n)
        assert all(ns == sorted(set(ns)) for ns in between.values())
