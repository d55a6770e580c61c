"""Threads that die: noticed, whichever it is, and never half alive."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import pytest

from fsshelter_py import (
    Bolt,
    Emit,
    FsShelterError,
    Hosted,
    Spout,
    TaskContext,
    TopologyFailedError,
    run,
    run_no_restart,
)
from tests.hostile.tools import NumberQueue, until
from tests.shapes import Number, linked


def kill(name: str, *, once: bool = False) -> None:
    """Have the thread of this name raise SystemExit at its next instruction, again and again until it is dead."""
    thread = next(t for t in threading.enumerate() if t.name == name)
    raised: list[int] = []

    def is_dead() -> bool:
        if thread.is_alive() and not (once and raised):
            raised.append(1)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
            thread.join(0.5)
        return not thread.is_alive()

    until(is_dead)


def idle(ctx: TaskContext) -> tuple[int, Number] | None:
    return None


def consume(number: Number, emit: Emit[None]) -> None:
    """Take it."""


async def consume_async(number: Number, emit: Emit[None]) -> None:
    """Take it."""


def running(hosted: Hosted) -> None:
    until(lambda: hosted.state == "running")


@pytest.mark.parametrize("name", ["shared", "c1-0", "async", "system"])
def test_thread_that_dies_is_noticed_and_the_topology_restarted(name: str) -> None:
    """However it came to die; a second is allowed, and a wait of ten milliseconds before the restart."""
    topology = linked(
        (Spout.run_reliable(idle), Bolt.run(consume).with_executors(1)),
        (Spout.run_reliable(idle), Bolt.run(consume_async)),
        restart_max_backoff_secs=0.01,
        max_restarts=100,
    )
    with run(topology) as hosted:
        running(hosted)
        runtime = hosted._runtime
        kill(f"fsshelter:linked:{name}")
        before = time.monotonic()
        until(lambda: hosted.stats().restarts >= 1)
        print(f"{name}: restarted {time.monotonic() - before:.2f} s after its death")
        running(hosted)
        assert f"executor {name} died" in str(hosted.last_error)
        assert isinstance(hosted.last_error, FsShelterError)
        assert isinstance(hosted.last_error.__cause__, SystemExit)
        assert hosted._runtime is not runtime
    assert hosted.state == "stopped"


def test_tuples_of_a_spout_whose_thread_died_are_handed_back() -> None:
    """By another thread, since its own is no more."""
    held = threading.Event()
    queue = NumberQueue(20)

    def hold(delivery: Any, collector: Any) -> None:
        if held.is_set():
            collector.ack(delivery)

    topology = linked((queue.spout(), Bolt.run_manual(hold).with_executors(1)), restart_max_backoff_secs=0.01)
    with run(topology) as hosted:
        until(lambda: hosted.stats().pending == 20)
        held.set()
        kill("fsshelter:linked:shared")
        hosted.wait(30)
    assert queue.acks == dict.fromkeys(range(20), 1)
    assert {reason.kind for reason in queue.nacks} == {"stopped"}


def test_supervisor_that_dies_takes_everything_down_with_it() -> None:
    """Nobody would restart anything any more: it ends as failed, and whoever waits is told."""
    queue = NumberQueue(5)
    topology = linked((queue.spout(), Bolt.run_manual(lambda delivery, collector: None)))
    hosted = run(topology)
    until(lambda: hosted.stats().pending == 5)
    kill("fsshelter:linked", once=True)
    with pytest.raises(TopologyFailedError) as failure:
        hosted.wait(30)
    assert isinstance(failure.value.__cause__, SystemExit)
    assert hosted.state == "failed"
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("fsshelter")])
    assert len(queue.nacks) == 5


def test_thread_that_dies_without_restarts_ends_the_topology() -> None:
    """``run_no_restart``: the first is the last."""
    with run_no_restart(linked((Spout.run_reliable(idle), Bolt.run(consume).with_executors(1)))) as hosted:
        running(hosted)
        kill("fsshelter:linked:c1-0")
        with pytest.raises(TopologyFailedError, match="c1-0 died"):
            hosted.wait(30)
