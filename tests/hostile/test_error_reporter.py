"""Loggers and error reporters that raise themselves: what they report is handled all the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, RuntimeTopology, Spout, TaskContext, TopologyFailedError, run_with
from fsshelter_py.host import Hosted
from fsshelter_py.testing import CollectBolt, ListSpout
from tests.hostile.tools import Log, NumberQueue, until
from tests.shapes import Number, linked, numbers


class BrokenLog:
    """As structlog's, but for what it does."""

    def bind(self, **values: Any) -> BrokenLog:
        return self

    def debug(self, event: str, **values: Any) -> None:
        raise OSError("the disk is full")

    info = warning = error = exception = debug


def fail(number: Number, emit: Emit[None]) -> None:
    raise ValueError("no")


def test_logger_that_raises_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Failures are nacked with their reason; stderr says, not often, that the log does not work."""
    source = ListSpout(numbers(50), max_attempts=3)
    with run_with(lambda task_id: BrokenLog(), linked((source.spout, Bolt.run(fail)))) as hosted:
        summary = hosted.wait(30)
    assert (summary.state, summary.failed, summary.restarts) == ("stopped", 150, 0)
    complaints = capsys.readouterr().err
    assert "the disk is full" in complaints
    assert complaints.count("\n") <= 4


def test_logger_that_raises_does_not_keep_a_topology_from_being_restarted() -> None:
    """The supervisor logs each failure, too."""

    def next(ctx: TaskContext) -> Any:
        raise ValueError("no")

    topology = linked((Spout.run_reliable(next), Bolt.run(fail)), max_restarts=2, restart_max_backoff_secs=0.01)
    hosted = Hosted(topology, lambda task_id: BrokenLog())
    with pytest.raises(TopologyFailedError, match="after 2 restarts"):
        hosted.wait(30)


def test_start_log_that_raises_is_told_to_the_caller() -> None:
    """There is nobody else yet."""

    def start_log(task_id: int) -> Any:
        raise OSError("no log")

    with pytest.raises(OSError, match="no log"):
        run_with(start_log, linked((ListSpout(numbers(1)).spout, Bolt.run(fail))))


@pytest.mark.parametrize("raised", [ValueError, SystemExit])
def test_error_reporter_that_raises_takes_no_thread_with_it(raised: type[BaseException]) -> None:
    """It is logged; acks and the stop still work, and what is unsettled is handed back."""
    told: list[BaseException] = []
    reported = threading.Event()

    def on_exception(error: BaseException) -> None:
        told.append(error)
        reported.set()
        raise raised("in the reporter")

    log, queue = Log(), NumberQueue(100)

    def take(queue: NumberQueue) -> Any:
        if queue.taken == 50:
            raise ValueError("the original")
        return queue.take()

    topology = linked((queue.spout(take), CollectBolt[Number]().bolt.with_executors(1)))
    runtime = RuntimeTopology.of_topology(topology, log.start_log, on_exception)
    runtime.activate()
    assert reported.wait(30)
    until(lambda: log.named("error_reporter_failed"))
    assert all(executor.thread is not None and executor.thread.is_alive() for executor in runtime.executors)
    runtime.stop(5, drain=False)
    runtime.shutdown()
    assert len(told) == 1
    assert queue.left + len(queue.acks) == 100
    assert not queue._taken
