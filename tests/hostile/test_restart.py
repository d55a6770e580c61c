"""Crashing and starting again: how often, when, and that nothing is lost on the way."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import structlog.testing

from fsshelter_py import Bolt, Emit, Shuffle, SourceError, Spout, TaskContext, TopologyFailedError, run, run_with
from fsshelter_py.testing import CollectBolt, ListSpout
from tests.hostile.tools import Log, NumberQueue, chained, until
from tests.shapes import PLACEMENTS, Number, linked, numbers
from topologies.guaranteed import NumberQueue as GuaranteedQueue
from topologies.guaranteed import guaranteed

SOON = {"restart_max_backoff_secs": 0.01}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_ten_forced_restarts_lose_nothing_of_a_source_that_keeps_its_own_queue(placement: str) -> None:
    """By count: each number is acked once in the end, and each taking of one was settled, once."""
    queue = NumberQueue(3000)
    forced: list[int] = []

    def take(queue: NumberQueue) -> Any:
        if len(forced) < 10 and queue.taken >= 200 * (len(forced) + 1):
            forced.append(queue.taken)
            raise ConnectionError("the queue is gone for a moment")
        return queue.take()

    def forward(number: Number, emit: Emit[Number]) -> None:
        emit(number)

    topology = chained(
        queue.spout(take),
        Bolt.run(forward).with_parallelism(2),
        CollectBolt[Number]().bolt,
        placement=placement,
        max_restarts=100,
        **SOON,
    )
    with run(topology) as hosted:
        summary = hosted.wait(60)
    assert summary.restarts == len(forced) == 10
    assert queue.left == 0
    assert queue.acks == dict.fromkeys(range(3000), 1)
    assert queue.taken == 3000 + len(queue.nacks)
    assert {reason.kind for reason in queue.nacks} <= {"stopped"}
    assert queue.deactivated == 11
    assert (summary.emitted, summary.acked, summary.failed) == (queue.taken, 3000, len(queue.nacks))
    assert summary.ok


def test_topology_of_the_guaranteed_example_loses_nothing_over_ten_forced_restarts() -> None:
    """The file that users are shown, with the runtime killed under it ten times."""
    queue = GuaranteedQueue(20_000)
    topology = guaranteed(queue=queue).with_conf(max_restarts=100, **SOON)
    with run(topology) as hosted:
        for restart in range(10):
            until(lambda: hosted.stats().restarts >= restart and hosted.state == "running")  # noqa: B023
            runtime = hosted._runtime
            if runtime is None:
                break
            runtime.report(ConnectionError(f"forced {restart}"))
            until(lambda: hosted.stats().restarts > restart or hosted.state == "stopped")  # noqa: B023
        summary = hosted.wait(60)
    assert (queue.left, queue.acked) == (0, 20_000)
    assert summary.restarts == 10
    assert summary.emitted == queue.acked + queue.nacked


def test_two_failures_at_the_same_moment_are_one_restart_and_both_are_kept() -> None:
    """Two executors fail together; the log and the exception have both."""
    barrier = threading.Barrier(2)

    def fail(ctx: TaskContext) -> Any:
        barrier.wait(30)
        raise ValueError(f"task {ctx.task_index}")

    log = Log()
    spout = Spout.run_reliable(fail).with_parallelism(2)
    topology = linked((spout, CollectBolt[Number]().bolt), max_restarts=2, **SOON)
    with run_with(log.start_log, topology) as hosted:
        until(lambda: hosted.state == "failed")
        with pytest.raises(TopologyFailedError) as failure:
            hosted.wait()
    assert hosted.stats().restarts == 2
    seen = {str(error)[-6:] for error in failure.value.errors}
    seen |= {str(entry["exc_info"])[-6:] for entry in log.named("error_after_failure")}
    assert seen == {"task 0", "task 1"}


def test_after_the_last_restart_everything_is_down_and_wait_raises_from_the_original() -> None:
    """Five restarts, six runs; the user's exception and its traceback are in the chain."""
    runs: list[int] = []

    def fail(ctx: TaskContext) -> Any:
        runs.append(1)
        raise KeyError("the original")

    with run(linked((Spout.run_reliable(fail), CollectBolt[Number]().bolt), **SOON)) as hosted:
        with pytest.raises(TopologyFailedError, match="after 5 restarts") as failure:
            hosted.wait(60)
        assert hosted.state == "failed"
    assert len(runs) == 6
    chain = [failure.value.__cause__, failure.value.__cause__.__cause__]  # type: ignore[union-attr]
    assert isinstance(chain[1], KeyError)
    assert chain[1].__traceback__ is not None
    assert chain[1].__traceback__.tb_next is not None
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fsshelter")]


def test_stop_interrupts_the_wait_before_a_restart() -> None:
    """The wait is of thirty seconds; and who asked for a stop is not told of a failure."""

    def fail(ctx: TaskContext) -> Any:
        raise ValueError("no")

    topology = linked((Spout.run_reliable(fail), CollectBolt[Number]().bolt), restart_max_backoff_secs=30)
    hosted = run(topology)
    until(lambda: hosted.state == "restarting")
    stopped = threading.Thread(target=hosted.stop)
    stopped.start()
    stopped.join(1.5)
    assert not stopped.is_alive()
    assert hosted.state == "stopped"
    assert "no" in str(hosted.last_error)
    assert hosted.stats().restarts == 0


def test_healthy_run_starts_the_count_of_restarts_anew() -> None:
    """One restart is allowed in a row; each run counts as healthy after no time at all, so ten are."""
    failures: list[int] = []

    def fail(ctx: TaskContext) -> Any:
        if len(failures) < 10:
            failures.append(1)
            raise ValueError("no")
        ctx.stop()
        return None

    topology = linked((Spout.run_reliable(fail), CollectBolt[Number]().bolt), max_restarts=1, restart_reset_secs=0)
    with run(topology.with_conf(SOON)) as hosted:
        assert hosted.wait(60).restarts == 10


@pytest.mark.parametrize("where", ["items", "iterating", "make_args"])
def test_source_that_cannot_be_read_is_not_tried_again(where: str) -> None:
    """A restart does not mend it; the error is told as it is."""

    def unreadable(ctx: TaskContext) -> Any:
        raise SourceError("no such file: x.txt")

    def iterating(ctx: TaskContext) -> Any:
        yield Number(1)
        raise SourceError("no such file: x.txt")

    spouts = {
        "items": Spout.replaying(unreadable),
        "iterating": Spout.replaying(iterating),
        "make_args": Spout.run_reliable(lambda args: None, make_args=unreadable),
    }
    with (
        run(linked((spouts[where], CollectBolt[Number]().bolt), restart_max_backoff_secs=30)) as hosted,
        pytest.raises(TopologyFailedError, match="no such file") as failure,
    ):
        hosted.wait(20)
    assert isinstance(failure.value.__cause__, SourceError)
    assert hosted.stats().restarts == 0


@pytest.mark.parametrize(
    ("where", "is_async"),
    [
        *((where, is_async) for where in ("next", "ack", "nack") for is_async in (False, True)),
        *((where, False) for where in ("make_args of a bolt", "make_args of a spout", "make_acker")),
    ],
)
def test_what_nothing_handles_restarts_and_the_error_names_the_task(where: str, is_async: bool) -> None:
    """In a spout's functions and in make_args there is no tuple to blame."""
    queue, failed = NumberQueue(20), threading.Event()

    def trip(at: str) -> None:
        if at == where and not failed.is_set():
            failed.set()
            raise ValueError(f"in {at}")

    def next(args: Any) -> Any:
        trip("next")
        return queue.take()

    def ack(number: int) -> None:
        queue.ack(number)
        trip("ack")

    def nack(number: int, reason: Any) -> None:
        queue.nack(number, reason)
        trip("nack")

    def make_acker(args: Any) -> Any:
        trip("make_acker")
        return (later(ack), later(nack)) if is_async else (ack, nack)

    def later(function: Any) -> Any:
        async def call(*args: Any) -> Any:
            return function(*args)

        return call

    def consume(args: Any, number: Number, emit: Emit[None]) -> None:
        if number.n == 7 and where == "nack" and not failed.is_set():
            raise ValueError("no")

    spout = Spout.run_reliable(
        later(next) if is_async else next,
        make_args=lambda ctx: trip("make_args of a spout"),
        make_acker=make_acker,
    )
    bolt = Bolt.run(consume, make_args=lambda ctx: trip("make_args of a bolt"))
    with run(linked((spout, bolt, Shuffle.on(Number)), **SOON)) as hosted:
        summary = hosted.wait(30)
        error = str(hosted.last_error)
    assert summary.restarts == 1
    assert f"in {where}" in error or where == "nack"
    assert ("c1 (task" if "bolt" in where else "c0 (task") in error
    assert queue.acks == dict.fromkeys(range(20), 1)


def test_what_a_replaying_spout_had_not_emitted_again_is_not_called_handled() -> None:
    """It waits for its backoff when the topology is stopped: the summary must not say that all is well."""

    def consume(number: Number, emit: Emit[None]) -> None:
        raise ValueError("no")

    def items(ctx: TaskContext) -> Any:
        yield Number(1)
        while True:
            yield None

    spout = Spout.replaying(items, backoff=1000.0)
    with run(linked((spout, Bolt.run(consume)))) as hosted:
        until(lambda: hosted.stats().failed == 1)
        summary = hosted.stop()
    assert summary.unresolved == 1
    assert not summary.ok


def test_restart_counts_what_each_run_did() -> None:
    """The summary is of all runs together."""
    source, log = ListSpout(numbers(10), max_attempts=None), Log()
    tripped: list[int] = []

    def make_args(ctx: TaskContext) -> None:
        if len(tripped) < 3:
            tripped.append(1)
            raise ValueError("not yet")

    bolt = Bolt.run(lambda args, number, emit: None, make_args=make_args).with_executors(1)
    with structlog.testing.capture_logs(), run_with(log.start_log, linked((source.spout, bolt), **SOON)) as hosted:
        summary = hosted.wait(30)
    assert summary.restarts == 3
    assert summary.acked == 10
    assert summary.emitted == summary.acked + summary.failed
    assert [entry["attempt"] for entry in log.named("restarting")] == [1, 2, 3]
