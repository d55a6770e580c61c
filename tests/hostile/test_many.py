"""Many of everything: tasks, threads, starts and stops, tuples, idle executors. What grows, and what idling costs.

The figures are printed; what is asserted is generous, since the machine may be busy. HOSTILE_SCALE=10 makes the runs of
growth as long as they are meant to be: 2,000 starts and stops, 5 million tuples.
"""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, Group, Spout, TaskContext, TopologyFailedError, run, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout, run_to_end
from tests.hostile.tools import NumberQueue, chained, until
from tests.shapes import Number, linked, numbers

SCALE = int(os.environ.get("HOSTILE_SCALE", "1"))


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def forward(number: Number, emit: Emit[Number]) -> None:
    emit(number)


async def take(number: Number, emit: Emit[None]) -> None:
    """Take it."""


@pytest.mark.parametrize("executors", [1, 4])
def test_thousand_tasks_on_few_executors(executors: int) -> None:
    """Grouped over all of them, and every task is reached."""
    sink = CollectBolt[Number]()
    many = sink.bolt.with_parallelism(1000).with_executors(executors)
    source = ListSpout(numbers(20_000))
    assert run_to_end(linked((source.spout, many, Group.by(Number, "n"))), timeout=60).ok
    assert len({task_id for task_id, _ in sink.received}) == 1000


def test_thousand_threads() -> None:
    """A task each; it takes a thousand file descriptors, and gives them back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1000 + files() + 50
    if hard < wanted:
        pytest.skip(f"the process may open {hard} files at most")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        sink = CollectBolt[Number]()
        source = ListSpout(numbers(5000))
        assert run_to_end(linked((source.spout, sink.bolt.with_parallelism(1000))), timeout=60).ok
        assert len({task_id for task_id, _ in sink.received}) == 1000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("fsshelter")])


def test_too_many_threads_for_the_file_descriptors_is_a_clear_error() -> None:
    """Told with what to do about it; what had been opened is closed, and a topology that fits runs afterwards."""
    run_to_end(linked((ListSpout(numbers(1)).spout, CollectBolt[Number]().bolt)))
    before = files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + 60, hard))
    try:
        wide = CollectBolt[Number]().bolt.with_parallelism(200)
        hosted = run(linked((ListSpout(numbers(1)).spout, wide), max_restarts=2, restart_max_backoff_secs=0.01))
        with pytest.raises(TopologyFailedError, match="202 executors take a file descriptor each"):
            hosted.wait(30)
        assert files() <= before
        assert run_to_end(linked((ListSpout(numbers(5)).spout, CollectBolt[Number]().bolt))).ok
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_more_threads_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third of five cannot be started: it fails at once, and those that were started end."""
    start = threading.Thread.start

    def start_some(thread: threading.Thread) -> None:
        if thread.name.endswith(":c1-2"):
            raise RuntimeError("can't start new thread")
        start(thread)

    before = files()
    queue = NumberQueue(5)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start_some)
        hosted = run_no_restart(linked((queue.spout(), CollectBolt[Number]().bolt.with_parallelism(5))))
        with pytest.raises(TopologyFailedError, match="can't start new thread"):
            hosted.wait(4)
    assert not [t for t in threading.enumerate() if t.name.startswith("fsshelter")]
    assert files() <= before + 3
    assert queue.left + len(queue.acks) == 5


def test_starts_and_stops_leave_nothing_behind() -> None:
    """Threads, files and memory are flat over 200 topologies (HOSTILE_SCALE=10: 2,000) in one process."""

    def once(index: int) -> None:
        sink = CollectBolt[Number]()
        source = ListSpout(numbers(20))
        bolts = (sink.bolt, Bolt.run(take), Bolt.run(forward).with_parallelism(2))
        hosted = run_no_restart(linked(*((source.spout, bolt) for bolt in bolts)))
        if index % 2:
            hosted.stop()
        else:
            hosted.wait(30)

    for index in range(20):
        once(index)
    gc.collect()
    threads, descriptors, before = threading.active_count(), files(), memory_mb()
    started = time.monotonic()
    for index in range(200 * SCALE):
        once(index)
    took = time.monotonic() - started
    gc.collect()
    print(f"{200 * SCALE} starts and stops, {took / 200 / SCALE * 1000:.1f} ms each: {memory_mb() - before:+.1f} MB")
    assert threading.active_count() == threads
    assert files() <= descriptors
    assert memory_mb() - before < 10


def test_memory_is_flat_in_the_number_of_tuples() -> None:
    """Ten times as many tuples, some of them failing and replayed, over direct calls and rings; in a new process."""
    program = f"""
        from tests.hostile.test_many import grow
        grow({50_000 * SCALE}, {500_000 * SCALE})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=600, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def grow(few: int, many: int) -> None:
    """Run ``few`` tuples and then ``many``, and exit with an error if that took 20 MB more."""

    def flaky(delivery_count: list[int], number: Number, emit: Emit[Number]) -> None:
        delivery_count[0] += 1
        if delivery_count[0] % 1000 == 0:
            raise ValueError("now and then")
        emit(number)

    def process(count: int) -> None:
        spout = Spout.replaying(lambda ctx: map(Number, range(count)))
        first = Bolt.run(flaky, make_args=lambda ctx: [0])
        second = Bolt.run(lambda number, emit: None).with_executors(1)
        with run_no_restart(chained(spout, first, second, max_spout_pending=1000)) as hosted:
            assert hosted.wait(500).acked == count

    process(few)
    gc.collect()
    before = memory_mb()
    process(many)
    gc.collect()
    grown = memory_mb() - before
    print(f"{few} tuples, then {many}: {before:.1f} MB, {grown:+.1f} MB")
    sys.exit(f"memory grew by {grown:.1f} MB" if grown > 20 else 0)


def test_fifty_idle_executors_cost_little() -> None:
    """They wake ten times a second each, look, and sleep on."""

    def next(ctx: TaskContext) -> tuple[int, Number] | None:
        return None

    secs = 2 * SCALE
    with run_no_restart(linked((Spout.run_reliable(next), CollectBolt[Number]().bolt.with_parallelism(49)))) as hosted:
        until(lambda: hosted.state == "running")
        before = os.times()
        with pytest.raises(TimeoutError):
            hosted.wait(secs)
        after = os.times()
    share = (after.user + after.system - before.user - before.system) / secs
    print(f"51 idle executors: {share:.2%} of a core")
    assert share < 0.2


def test_woken_spout_is_asked_at_once() -> None:
    """From ``ctx.wake()`` in another thread to the tuple's arrival at a bolt, while the spout would sleep for long."""
    waiting: list[int] = []
    contexts: list[TaskContext] = []
    arrived = threading.Event()

    def next(ctx: TaskContext) -> tuple[int, Number] | None:
        if not contexts:
            contexts.append(ctx)
        return (n := waiting.pop(), Number(n)) if waiting else None

    def arrive(number: Number, emit: Emit[None]) -> None:
        arrived.set()

    waits: list[float] = []
    spout = Spout.run_reliable(next).with_conf(sleep_spout_wait_strategy_time_ms=5000)
    with run_no_restart(linked((spout, Bolt.run(arrive)))) as hosted:
        until(lambda: contexts and hosted.state == "running")
        for number in range(200):
            arrived.clear()
            waiting.append(number)
            began = time.perf_counter()
            contexts[0].wake()
            assert arrived.wait(4)
            waits.append(time.perf_counter() - began)
    print(f"wake to arrival: median {statistics.median(waits) * 1000:.2f} ms, worst {max(waits) * 1000:.2f} ms")
    assert statistics.median(waits) < 1


def test_wide_trees_of_many_deliveries_are_settled_once() -> None:
    """One source tuple that causes fifty thousand, over rings."""

    def burst(number: Number, emit: Emit[Number]) -> None:
        for n in range(50_000):
            emit(Number(n))

    handled: list[Any] = []
    source, bursting = ListSpout(numbers(3)), Bolt.run(burst)
    counting = Bolt.run(lambda number, emit: handled.append(1)).with_executors(1)
    summary = run_to_end(chained(source.spout, bursting, counting, executor_receive_buffer_size=8), timeout=60)
    assert (summary.acked, len(handled)) == (3, 150_000)
