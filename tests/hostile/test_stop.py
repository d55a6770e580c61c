"""Stopping: what is in flight is finished, what cannot be is handed back, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, NackReason, RuntimeTopology, Spout, TaskContext, run_no_restart, run_with
from fsshelter_py.testing import CollectBolt, ListSpout
from tests.hostile.tools import NEVER, Log, NumberQueue, chained, released, until
from tests.shapes import PLACEMENTS, Number, linked, numbers


def threads_of_ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("fsshelter")]


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_unsettled_tuples_are_handed_back_before_their_spout_is_deactivated(placement: str) -> None:
    """A bolt that never settles anything: at the stop each tuple is nacked, once, as stopped, by its own spout."""
    queue = NumberQueue(500)
    topology = linked((queue.spout(), NEVER), placement=placement, max_spout_pending=100)
    with run_no_restart(topology) as hosted:
        until(lambda: hosted.stats().pending == 100)
        summary = hosted.stop(0.05)
    assert {(reason.kind, reason.component) for reason in queue.nacks} == {("stopped", "c0")}
    assert (len(queue.nacks), queue.left, queue.deactivated) == (100, 500, 1)
    assert summary.nacks == {"stopped": 100}


@pytest.mark.parametrize("stuck", ["sync", "async", "batched"])
def test_bolt_stuck_in_user_code_does_not_keep_the_topology_from_stopping(stuck: str) -> None:
    """It ends a second after the time for draining; the thread is left behind and named, the tuple handed back."""
    began = threading.Event()
    with released(threading.Event()) as go:
        log, queue = Log(), NumberQueue(10)

        def consume(number: Any, emit: Emit[None]) -> None:
            began.set()
            go.wait(60)

        async def consume_async(number: Number, emit: Emit[None]) -> None:
            consume(number, emit)

        bolts = {
            "sync": Bolt.run(consume),
            "async": Bolt.run(consume_async),
            "batched": Bolt.run_batched(consume, max_size=3, max_wait=0.1),
        }
        hosted = run_with(
            log.start_log,
            chained(queue.spout(), bolts[stuck], CollectBolt[Any]().bolt, worker_shutdown_sleep_secs=0.5),
        )
        assert began.wait(30)
        before = time.monotonic()
        hosted.stop()
        took = time.monotonic() - before
        print(f"stopped after {took:.2f} s, of which 0.5 s were for draining")
        assert took < 5
        assert hosted.state == "stopped"
        assert len(log.named("stuck_in_user_code")) == 1
        assert {reason.kind for reason in queue.nacks} == {"stopped"}
        assert queue.left == 10
    until(lambda: not threads_of_ours())


def test_several_stuck_components_share_one_grace() -> None:
    """Six of them on two executors do not take six times as long to be given up."""
    began = threading.Barrier(3)
    with released(threading.Event()) as go:

        def consume(number: Number, emit: Emit[Number]) -> None:
            emit(number)
            began.wait(30)
            go.wait(60)

        def forward(number: Number, emit: Emit[Number]) -> None:
            emit(number)

        source = ListSpout(numbers(2))
        spout = source.spout
        first, second = Bolt.run(consume).with_executors(1), Bolt.run(consume).with_executors(1)
        rest = [Bolt.run(forward) for _ in range(4)]
        topology = linked(
            (spout, first), (spout, second), *((rest[i], rest[i + 1]) for i in range(3)), (first, rest[0])
        )
        hosted = run_no_restart(topology.with_conf(worker_shutdown_sleep_secs=0.1))
        began.wait(30)
        before = time.monotonic()
        hosted.stop()
        took = time.monotonic() - before
        print(f"stopped after {took:.2f} s, of which 0.1 s were for draining")
        assert took < 5
    until(lambda: not threads_of_ours())


def test_nack_handler_that_does_not_return_does_not_keep_the_topology_from_stopping() -> None:
    """Its executor is stuck, and what it would be told instead waits for the same lock."""
    began = threading.Event()
    with released(threading.Event()) as go:

        def next(ctx: TaskContext) -> tuple[int, Number]:
            return 1, Number(1)

        def nack(number: int) -> None:
            began.set()
            go.wait(60)

        def consume(number: Number, emit: Emit[None]) -> None:
            raise ValueError("no")

        log = Log()
        spout = Spout.run_reliable(next, make_acker=lambda ctx: (nack, nack))
        hosted = run_with(log.start_log, chained(spout, Bolt.run(consume), worker_shutdown_sleep_secs=0.1))
        assert began.wait(30)
        hosted.stop()
        assert hosted.state == "stopped"
        assert log.named("stuck_in_user_code")
    until(lambda: not threads_of_ours())


@pytest.mark.parametrize("make", ["sync", "async"])
def test_idle_topology_stops_at_once(make: str) -> None:
    """Nothing is in flight and nothing is waited for."""

    async def consume(number: Number, emit: Emit[None]) -> None:
        await asyncio.sleep(0)

    def next(ctx: TaskContext) -> tuple[int, Number] | None:
        return None

    bolt = Bolt.run(consume) if make == "async" else CollectBolt[Number]().bolt
    hosted = run_no_restart(linked((Spout.run_reliable(next), bolt.with_parallelism(3))))
    until(lambda: hosted.state == "running")
    before = time.monotonic()
    hosted.stop()
    took = time.monotonic() - before
    print(f"idle stop: {took * 1000:.1f} ms")
    assert took < 5


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_no_thread_and_no_file_is_left(placement: str) -> None:
    """After an end, a stop, a crash: what was there before is there."""

    async def consume(number: Number, emit: Emit[None]) -> None:
        await asyncio.sleep(0)

    def raises(ctx: TaskContext) -> Any:
        raise ValueError("no")

    def once(kind: str) -> None:
        source: Spout = ListSpout(numbers(20)).spout if kind != "crash" else Spout.run_reliable(raises)
        bolts = (CollectBolt[Number]().bolt.with_parallelism(2), Bolt.run(consume))
        topology = linked(*((source, bolt) for bolt in bolts), placement=placement)
        hosted = run_no_restart(topology)
        if kind == "stop":
            hosted.stop()
        else:
            until(lambda: hosted.state in ("stopped", "failed"))
        with pytest.raises(Exception, match="no") if kind == "crash" else threading.Lock():
            hosted.wait()

    once("end")
    before = files()
    for kind in ("end", "stop", "crash"):
        once(kind)
    assert threads_of_ours() == []
    assert files() <= before


def test_stop_before_anything_has_started() -> None:
    """make_args takes its time; the stop waits for it and no longer."""
    with released(threading.Event()) as go:
        queue = NumberQueue(5)
        spout = queue.spout()
        slow = Bolt.run(lambda args, number, emit: None, make_args=lambda ctx: go.wait(60)).with_executors(1)
        hosted = run_no_restart(linked((spout, slow)))
        stopped = threading.Thread(target=hosted.stop)
        stopped.start()
        until(lambda: hosted.state == "draining")
        go.set()
        stopped.join(30)
        assert hosted.state == "stopped"
        assert queue.left + len(queue.acks) == 5


def test_error_while_draining_is_logged_and_loses_nothing() -> None:
    """An ack handler that raises when everything stops: that is no restart, and no silence."""
    began = threading.Event()
    with released(threading.Event()) as go:

        def consume(number: Number, emit: Emit[None]) -> None:
            began.set()
            go.wait(60)

        def ack(number: int) -> None:
            raise ValueError("cannot ack")

        nacked: list[NackReason] = []
        source = iter([(0, Number(0)), (1, Number(1))])
        spout = Spout.run_reliable(
            lambda ctx: next(source, None),
            make_acker=lambda ctx: (ack, lambda number, reason: nacked.append(reason)),
        )
        log = Log()
        hosted = run_with(log.start_log, linked((spout, Bolt.run(consume).with_executors(1))))
        assert began.wait(30)
        stopper = threading.Thread(target=hosted.stop)
        stopper.start()
        until(lambda: hosted.state == "draining")
        go.set()
        stopper.join(30)
        assert hosted.state == "stopped"
        assert "cannot ack" in str(hosted.last_error)
        assert log.named("failed_while_stopping")
        assert len(nacked) <= 1


def test_runtime_that_was_never_activated_can_be_shut_down() -> None:
    """Built, looked at, thrown away: no thread, no socket."""
    before = files()
    for _ in range(3):
        runtime = RuntimeTopology.of_topology(chained(ListSpout(numbers(1)).spout, NEVER), Log().start_log, print)
        assert "c1" in runtime.describe()
        runtime.shutdown()
    assert files() <= before + 3
