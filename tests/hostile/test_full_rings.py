"""Rings that are full: nothing deadlocks, acks go on, and nothing is lost."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, Spout, TaskContext, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout
from tests.hostile.tools import chained, released, until
from tests.shapes import PLACEMENTS, Number, linked, numbers


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_rings_of_eight_with_a_thousand_pending_and_a_bolt_that_stalls(placement: str) -> None:
    """The others go on meanwhile; once it goes on, everything is acked."""
    with released(threading.Event()) as go:
        stalled = threading.Event()

        def stall(number: Number, emit: Emit[Number]) -> None:
            if number.n == 5:
                stalled.set()
                go.wait(60)
            emit(number)

        source, beside = ListSpout(numbers(3000)), CollectBolt[Number]()
        spout, staller = source.spout, Bolt.run(stall).with_executors(1)
        last = CollectBolt[Number]().bolt.with_parallelism(2)
        topology = linked((spout, staller), (staller, last), (spout, beside.bolt.with_executors(1)))
        topology = topology.with_conf(placement=placement, executor_receive_buffer_size=8, max_spout_pending=1000)
        with run_no_restart(topology) as hosted:
            assert stalled.wait(30)
            until(lambda: hosted.stats().components["c1"].queued >= 8)
            assert hosted.stats().components["c1"].queued <= 8 + 1
            go.set()
            summary = hosted.wait(60)
    assert (summary.acked, summary.failed) == (3000, 0)
    assert len(beside.tuples) == 3000


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_ack_and_nack_handlers_that_bring_more_to_emit_while_rings_are_full(placement: str) -> None:
    """Each handler queues more, and wakes the spout, from inside the handler; and all of it comes through."""
    lock, waiting = threading.Lock(), deque(range(200))
    acked: list[int] = []
    nacked: list[int] = []

    def next(ctx: TaskContext) -> tuple[int, Number] | None:
        with lock:
            if len(acked) >= 2000 and not waiting:
                ctx.stop()
            if not waiting:
                return None
            number = waiting.popleft()
        return number, Number(number)

    def make_acker(ctx: TaskContext) -> Any:
        def ack(number: int) -> None:
            with lock:
                acked.append(number)
                if number < 1800:
                    waiting.append(number + 200)
            ctx.wake()

        def nack(number: int) -> None:
            with lock:
                nacked.append(number)
                waiting.append(number)
            ctx.wake()

        return ack, nack

    failed: set[int] = set()

    def consume(number: Number, emit: Emit[Number]) -> None:
        if number.n % 7 == 0 and number.n not in failed:
            failed.add(number.n)
            raise ValueError("once")
        emit(number)

    spout = Spout.run_reliable(next, make_acker=make_acker)
    topology = chained(spout, Bolt.run(consume).with_parallelism(2), CollectBolt[Number]().bolt.with_executors(1))
    conf: dict[str, Any] = {"executor_receive_buffer_size": 2, "max_spout_pending": 100}
    with run_no_restart(topology.with_conf(conf, placement=placement)) as hosted:
        summary = hosted.wait(60)
    assert sorted(acked) == list(range(2000))
    assert len(nacked) == len([n for n in range(2000) if n % 7 == 0])
    assert summary.emitted == len(acked) + len(nacked)


def test_stop_while_every_ring_is_full() -> None:
    """Nothing drains, since the bolt is stalled: all is handed back in time."""
    with released(threading.Event()) as go:
        source = ListSpout(numbers(1000))
        staller = Bolt.run(lambda number, emit: go.wait(60) and None).with_executors(1)
        topology = linked((source.spout, staller), executor_receive_buffer_size=2, max_spout_pending=500)
        hosted = run_no_restart(topology)
        until(lambda: hosted.stats().components["c1"].queued >= 2)
        emitted = len(source.emitted)
        hosted.stop(0.1)
    assert {reason.kind for _, reason in source.nacked} == {"stopped"}
    assert len(source.nacked) >= emitted
    assert len(source.nacked) + len(source.acked) == len(source.emitted)


def test_unreliable_spout_is_held_back_by_full_rings() -> None:
    """Nothing counts its tuples; the ring does, and what one burst may hold beyond it."""
    with released(threading.Event()) as go:
        asked: list[int] = []

        def next(ctx: TaskContext) -> Number:
            asked.append(1)
            return Number(len(asked))

        staller = Bolt.run(lambda number, emit: go.wait(60) and None).with_executors(1)
        hosted = run_no_restart(linked((Spout.run_unreliable(next), staller), executor_receive_buffer_size=8))
        until(lambda: hosted.stats().components["c1"].queued >= 8)
        before = len(asked)
        assert before <= 8 + 8 + 2 * 32
        with pytest.raises(TimeoutError):
            hosted.wait(0.1)
        assert len(asked) == before
        go.set()
        hosted.stop()
