"""A stop that does not wait: what becomes of what is cut off in the middle."""

import asyncio
import threading
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, Spout, TaskContext, TopologyFailedError, run_no_restart, run_with
from fsshelter_py.testing import ListSpout
from tests.hostile.tools import NEVER, Log
from tests.shapes import Number, linked, numbers


@pytest.mark.parametrize("concurrency", [1, 3])
def test_coroutines_cut_off_by_a_stop_were_stopped_and_did_not_fail(concurrency: int) -> None:
    """They are cancelled, and a CancelledError raised in user code would be a failure of that tuple."""
    called, cancelled = threading.Event(), []

    async def wait(number: Number, emit: Emit[None]) -> None:
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(number)

    source = ListSpout(numbers(5))
    with run_no_restart(linked((source.spout, Bolt.run(wait).with_concurrency(concurrency)))) as hosted:
        assert called.wait(30)
        summary = hosted.stop(timeout=0)
    assert summary.nacks == {"stopped": len(source.emitted)}
    assert len(cancelled) == concurrency, "the next one is not called when one was cancelled"


def test_a_manual_coroutine_cut_off_by_a_stop_was_stopped_and_did_not_fail() -> None:
    called = threading.Event()

    async def wait(delivery: Any, collector: Any) -> None:
        called.set()
        await asyncio.Event().wait()

    source = ListSpout(numbers(5))
    with run_no_restart(linked((source.spout, Bolt.run_manual(wait)))) as hosted:
        assert called.wait(30)
        summary = hosted.stop(timeout=0)
    assert summary.nacks == {"stopped": len(source.emitted)}


@pytest.mark.parametrize("acker_tasks", [0, 1])
@pytest.mark.parametrize("stuck_in", ["next", "the bolt"])
def test_a_spout_given_up_while_stuck_gives_back_what_it_takes_after_all(stuck_in: str, acker_tasks: int) -> None:
    """It is deactivated while it is inside next, or inside a bolt of its thread, and comes back with a tuple."""
    stuck, go_on = threading.Event(), threading.Event()
    left: list[Number] = numbers(3)
    told: list[tuple[str, int]] = []

    def get_stuck(where: str) -> None:
        if where == stuck_in:
            stuck.set()
            assert go_on.wait(30)

    def take(ctx: Any) -> tuple[int, Number]:
        get_stuck("next")
        number = left.pop()
        return number.n, number

    def acker(ctx: Any) -> tuple[Any, Any]:
        return lambda key: told.append(("ack", key)), lambda key, reason: told.append((reason.kind, key))

    spout = Spout.run_reliable(take, make_acker=acker, deactivate=lambda ctx: told.append(("deactivated", 0)))
    bolt = Bolt.run(lambda number, emit: get_stuck("the bolt"))
    with run_no_restart(linked((spout, bolt), placement="shared", acker_tasks=acker_tasks)) as hosted:
        assert stuck.wait(30)
        threads = [thread for thread in threading.enumerate() if thread.name == "fsshelter:linked:shared"]
        hosted.stop(timeout=0)
        go_on.set()
        threads[0].join(30)
    assert len(left) == 2
    assert sorted(told) == [("deactivated", 0), ("stopped", 2)]


def test_spouts_given_up_together_are_told_at_the_same_time() -> None:
    """One whose handlers take long takes nothing from the time that another has."""
    stuck, together, go_on = threading.Barrier(3), threading.Barrier(2), threading.Event()
    taken: list[int] = []
    told: list[int] = []
    log = Log()

    def take(ctx: TaskContext) -> tuple[int, Number] | None:
        if ctx.task_index not in taken:
            taken.append(ctx.task_index)
            return ctx.task_index, Number(ctx.task_index)
        stuck.wait(30)
        go_on.wait(30)
        return None

    def nack(key: int) -> None:
        together.wait(30)
        told.append(key)

    spout = Spout.run_reliable(take, make_acker=lambda ctx: (told.append, nack)).with_parallelism(2).with_executors(2)
    hosted = run_with(log.start_log, linked((spout, NEVER.with_executors(1))))
    stuck.wait(30)
    hosted.stop(timeout=0)
    go_on.set()
    assert sorted(told) == [0, 1]
    assert not log.named("stuck_in_handler")


def test_an_async_next_that_answers_while_it_is_cancelled_by_a_crash_loses_nothing() -> None:
    """What it answers is nacked as stopped, before the spout is deactivated."""
    asked, told = threading.Event(), []

    async def take(ctx: Any) -> tuple[int, Number]:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 7, Number(7)  # taken from a queue that knows nothing of cancelling
        raise AssertionError

    async def fail(ctx: Any) -> Any:
        while not asked.is_set():
            await asyncio.sleep(0)
        raise ValueError("no more")

    def acker(ctx: Any) -> tuple[Any, Any]:
        return lambda key: told.append(("ack", key)), lambda key, reason: told.append((reason.kind, key))

    spout = Spout.run_reliable(take, make_acker=acker, deactivate=lambda ctx: told.append(("deactivated", 0)))
    bolt = Bolt.run(lambda number, emit: None)
    hosted = run_no_restart(linked((spout, bolt), (Spout.run_unreliable(fail), bolt)))
    with pytest.raises(TopologyFailedError, match="no more"):
        hosted.wait(30)
    assert told == [("stopped", 7), ("deactivated", 0)]
