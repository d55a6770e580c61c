"""Every kind of bolt, run to the end with its threads."""

import asyncio
import threading
from typing import Any

import pytest

from fsshelter_py import (
    Bolt,
    Collector,
    Delivery,
    Emit,
    EmitError,
    Group,
    Spout,
    TaskContext,
)
from fsshelter_py.testing import CollectBolt, ListSpout, run_to_end
from tests.shapes import PLACEMENTS, Letter, Number, linked, numbers


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_run_with_arguments_of_each_task(placement: str) -> None:
    """make_args is called once a task, in the thread that calls consume."""
    made: list[tuple[int, threading.Thread]] = []
    threads: set[tuple[int, threading.Thread]] = set()

    def make_args(ctx: TaskContext) -> TaskContext:
        made.append((ctx.task_id, threading.current_thread()))
        return ctx

    def consume(ctx: TaskContext, tuple_: Number, emit: Emit[None]) -> None:
        threads.add((ctx.task_id, threading.current_thread()))

    source, bolt = ListSpout(numbers(100)), Bolt.run(consume, make_args=make_args).with_parallelism(4)
    assert run_to_end(linked((source.spout, bolt), placement=placement)).ok
    assert len(made) == 4
    assert set(made) == threads


@pytest.mark.parametrize("is_async", [False, True])
def test_terminator_handles_and_fails_every_tuple(is_async: bool) -> None:
    """What it emits is delivered all the same."""

    def consume(tuple_: Number, emit: Emit[Number]) -> None:
        emit(tuple_)

    async def consume_async(tuple_: Number, emit: Emit[Number]) -> None:
        emit(tuple_)

    source, sink = ListSpout(numbers(30)), CollectBolt[Number]()
    bolt = Bolt.run_terminator(consume_async if is_async else consume)
    summary = run_to_end(linked((source.spout, bolt), (bolt, sink.bolt)))
    assert len(source.nacked) == summary.failed == 30
    assert sorted(t.n for t in sink.tuples) == list(range(30))
    assert {reason.component for _, reason in source.nacked} == {"c1"}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("is_async", [False, True])
def test_batches_are_full_but_for_the_last_and_fail_as_a_whole(is_async: bool, placement: str) -> None:
    """The last is flushed at the end of the input, long before it would be old enough."""
    batches: list[list[int]] = []

    def handle(tuples: list[Number], emit: Emit[Number]) -> None:
        batches.append([t.n for t in tuples])
        for tuple_ in tuples:
            emit(tuple_)
        if 20 in batches[-1]:
            raise ValueError("this one")

    async def consume(tuples: list[Number], emit: Emit[Number]) -> None:
        await asyncio.sleep(0)
        handle(tuples, emit)

    source, sink = ListSpout(numbers(52)), CollectBolt[Number]()
    bolt = Bolt.run_batched(consume if is_async else handle, max_size=10, max_wait=3600)
    run_to_end(linked((source.spout, bolt), (bolt, sink.bolt), placement=placement))
    assert [len(batch) for batch in batches] == [10] * 5 + [2]
    (failed,) = [batch for batch in batches if 20 in batch]
    assert sorted(t.n for t, _ in source.nacked) == sorted(failed)
    assert len(source.acked) == 42
    assert len(sink.tuples) == 52


def test_batch_belongs_to_the_function() -> None:
    """It may keep and change the list."""
    kept: list[list[Number]] = []

    def keep(tuples: list[Number], emit: Emit[None]) -> None:
        kept.append(tuples)
        tuples.reverse()

    assert run_to_end(linked((ListSpout(numbers(6)).spout, Bolt.run_batched(keep, max_size=3, max_wait=1)))).ok
    assert [[t.n for t in batch] for batch in kept] == [[2, 1, 0], [5, 4, 3]]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_coroutines_of_one_task_keep_order_unless_several_may_be_in_flight(placement: str) -> None:
    """With a concurrency of 1 a slow one holds up the next; with 4 there are at most 4 at once."""
    running = most = 0

    async def consume(tuple_: Number, emit: Emit[Number]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5 - tuple_.n % 5):
            await asyncio.sleep(0)
        running -= 1
        emit(tuple_)

    for concurrency in (1, 4):
        most = 0
        source, sink = ListSpout(numbers(60)), CollectBolt[Number]()
        bolt = Bolt.run(consume).with_concurrency(concurrency)
        assert run_to_end(linked((source.spout, bolt), (bolt, sink.bolt), placement=placement)).ok
        assert most == concurrency
        order = [t.n for t in sink.tuples]
        assert sorted(order) == list(range(60))
        assert (order == list(range(60))) == (concurrency == 1)


def test_coroutine_that_is_cancelled_fails_its_tuple() -> None:
    """CancelledError is a failure like any other."""

    async def consume(tuple_: Number, emit: Emit[None]) -> None:
        if tuple_.n == 1:
            raise asyncio.CancelledError

    source = ListSpout(numbers(3))
    run_to_end(linked((source.spout, Bolt.run(consume))))
    assert [t.n for t, _ in source.nacked] == [1]
    assert len(source.acked) == 2


def test_emit_after_the_coroutine_is_done_is_refused() -> None:
    """Its tuple is settled: what comes later could join no tree."""
    emits: list[Emit[Number]] = []

    async def consume(tuple_: Number, emit: Emit[Number]) -> None:
        emits.append(emit)

    run_to_end(linked((ListSpout(numbers(1)).spout, Bolt.run(consume))))
    with pytest.raises(EmitError, match="after its input was done"):
        emits[0](Number(1))


def test_generator_given_as_consume_is_a_failure_that_says_so() -> None:
    """Its body would never run."""
    source = ListSpout(numbers(1))

    def hidden(tuple_: Number, emit: Emit[None]) -> Any:
        return (n for n in range(3))

    run_to_end(linked((source.spout, Bolt.run(hidden))))
    ((_, reason),) = source.nacked
    assert "returned a generator" in str(reason.error)


def test_activation_tuple_is_handled_before_any_other() -> None:
    """By every task, in every kind of bolt, and what it emits is delivered."""

    def sync(tuple_: Any, emit: Emit[Any]) -> None:
        emit(tuple_)

    async def coroutine(tuple_: Any, emit: Emit[Any]) -> None:
        emit(tuple_)

    def batch(tuples: list[Any], emit: Emit[Any]) -> None:
        for tuple_ in tuples:
            emit(tuple_)

    def manual(delivery: Delivery[Any], collector: Collector[Any]) -> None:
        collector.emit(delivery.tuple, anchors=[delivery])
        if isinstance(delivery.tuple, Number):
            collector.ack(delivery)

    for bolt in (
        Bolt.run(sync),
        Bolt.run(coroutine),
        Bolt.run_batched(batch, max_size=4, max_wait=1),
        Bolt.run_manual(manual),
    ):
        for placement in PLACEMENTS:
            source, sink = ListSpout(numbers(10)), CollectBolt[Any]()
            both = bolt.with_parallelism(2).with_activation(Letter("on")).with_deactivation(Letter("off"))
            topology = linked(
                (source.spout, both),
                (both, sink.bolt),
                (both, sink.bolt, Group.by(Letter, "text")),
                placement=placement,
            )
            assert run_to_end(topology).ok
            letters = [t for t in sink.tuples if isinstance(t, Letter)]
            assert letters == [Letter("on")] * 2 + [Letter("off")] * 2
            assert len(sink.tuples) == 14
            assert len(source.acked) == 10


def test_component_may_be_spread_over_threads_of_its_own() -> None:
    """Six tasks on two threads, whatever the placement."""
    threads: dict[int, str] = {}

    def consume(ctx: TaskContext, tuple_: Number, emit: Emit[None]) -> None:
        threads[ctx.task_id] = threading.current_thread().name

    bolt = Bolt.run(consume, make_args=lambda ctx: ctx).with_parallelism(6).with_executors(2)
    spout = Spout.replaying(lambda ctx: numbers(60))
    for placement in PLACEMENTS:
        threads.clear()
        assert run_to_end(linked((spout, bolt), placement=placement)).ok
        assert len(threads) == 6
        assert len(set(threads.values())) == 2
