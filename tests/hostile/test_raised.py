"""User code that raises what is no Exception: a failure of that tuple, or of the topology, and never a hang."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fsshelter_py import Bolt, Collector, Delivery, Emit, Spout, TopologyFailedError, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout, run_to_end
from tests.hostile.tools import NumberQueue
from tests.shapes import Number, linked, numbers

RAISED = [TimeoutError, asyncio.CancelledError, SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration]


def make_bolt(kind: str, raised: type[BaseException]) -> Bolt:
    def consume(number: Number, emit: Emit[None]) -> None:
        if number.n % 2:
            raise raised

    async def consume_async(number: Number, emit: Emit[None]) -> None:
        await asyncio.sleep(0)
        consume(number, emit)

    def consume_manual(delivery: Delivery[Number], collector: Collector[None]) -> None:
        if delivery.tuple.n % 2:
            raise raised
        collector.ack(delivery)

    bolts = {
        "sync": lambda: Bolt.run(consume),
        "async": lambda: Bolt.run(consume_async).with_concurrency(3),
        "batched": lambda: Bolt.run_batched(lambda batch, emit: consume(batch[0], emit), max_size=1, max_wait=1),
        "terminator": lambda: Bolt.run_terminator(consume),
        "manual": lambda: Bolt.run_manual(consume_manual),
    }
    return bolts[kind]()


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("kind", ["sync", "async", "batched", "terminator", "manual"])
def test_consume_that_raises_fails_that_tuple_only(kind: str, raised: type[BaseException]) -> None:
    """The task goes on, and its thread with it."""
    source = ListSpout(numbers(10))
    run_to_end(linked((source.spout, make_bolt(kind, raised))))
    if kind == "terminator":
        assert len(source.nacked) == 10
    else:
        assert sorted(number.n for number in source.acked) == [0, 2, 4, 6, 8]
    odd = [type(reason.error) for number, reason in source.nacked if number.n % 2]
    # Python turns a StopIteration that leaves a coroutine into a RuntimeError.
    assert odd == [RuntimeError if kind == "async" and raised is StopIteration else raised] * 5


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("where", ["next", "ack", "nack", "make_args", "bolt's make_args", "deactivate"])
def test_spout_or_make_args_that_raises_fails_the_topology(
    where: str, is_async: bool, raised: type[BaseException]
) -> None:
    """Whatever it is, it is told; what was unsettled is handed back; only while deactivating is it just logged."""
    queue = NumberQueue(4)

    def trip(at: str) -> None:
        if at == where:
            raise raised("tripped")

    def later(function: Any) -> Any:
        async def call(*args: Any) -> Any:
            await asyncio.sleep(0)
            return function(*args)

        return call if is_async else function

    def next(args: Any) -> Any:
        if queue.taken:
            trip("next")
        return queue.take()

    def ack(number: int) -> None:
        queue.ack(number)
        trip("ack")

    def nack(number: int, reason: Any) -> None:
        queue.nack(number, reason)
        if reason.kind == "failed":
            trip("nack")

    def consume(args: Any, number: Number, emit: Emit[None]) -> None:
        if number.n == 2 and where == "nack":
            raise ValueError("no")

    spout = Spout.run_reliable(
        later(next),
        make_args=lambda ctx: trip("make_args"),
        make_acker=lambda args: (later(ack), later(nack)),
        deactivate=later(lambda args: trip("deactivate")),
    )
    bolt = Bolt.run(consume, make_args=lambda ctx: trip("bolt's make_args"))
    with run_no_restart(linked((spout, bolt))) as hosted:
        if where == "deactivate":
            assert hosted.wait(20).acked == 4
        else:
            with pytest.raises(TopologyFailedError) as failure:
                hosted.wait(20)
            cause = failure.value.__cause__
            assert "c1 (task" in str(cause) if "bolt" in where else "c0 (task" in str(cause)
            original = cause.__cause__ if cause else None
            assert type(original) in (raised, RuntimeError)
    assert sum(queue.acks.values()) + queue.left == 4
    assert not queue._taken


def test_end_of_a_coroutine_by_cancelling_itself_fails_that_tuple() -> None:
    """Not the loop, nor the coroutines beside it."""

    async def consume(number: Number, emit: Emit[Number]) -> None:
        if number.n == 3:
            current = asyncio.current_task()
            assert current is not None
            current.cancel()
        await asyncio.sleep(0.001)
        emit(number)

    source, sink, bolt = ListSpout(numbers(10)), CollectBolt[Number](), Bolt.run(consume).with_concurrency(10)
    run_to_end(linked((source.spout, bolt), (bolt, sink.bolt)))
    assert [number.n for number, _ in source.nacked] == [3]
    assert len(sink.tuples) == 9


def test_timeout_in_user_code_is_no_message_timeout() -> None:
    """A TimeoutError of the user's own is a failure, and counted as one."""
    source = ListSpout(numbers(4))
    summary = run_to_end(linked((source.spout, make_bolt("async", TimeoutError))))
    assert summary.nacks == {"failed": 2}
    assert summary.components["c0"].timed_out == 0
