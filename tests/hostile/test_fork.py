"""Processes made beside a running topology: the child ends cleanly, the parent goes on unharmed."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, FsShelterError, Hosted, Spout, TaskContext, run_no_restart
from tests.hostile.tools import NumberQueue, chained, until
from tests.shapes import Number, linked

# Python warns of a fork beside threads from 3.12 on, and rightly; here it is the point.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def endless() -> Spout:
    def next(ctx: TaskContext) -> tuple[int, Number]:
        return 1, Number(1)

    return Spout.run_reliable(next)


def consume(number: Number, emit: Emit[None]) -> None:
    """Take it."""


async def consume_async(number: Number, emit: Emit[None]) -> None:
    """Take it."""


def busy() -> Hosted:
    spout = endless()
    return run_no_restart(linked((spout, Bolt.run(consume).with_parallelism(2)), (spout, Bolt.run(consume_async))))


def goes_on(hosted: Hosted) -> None:
    before = hosted.stats().acked
    until(lambda: hosted.stats().acked > before + 100)


def exit_code(pid: int) -> int:
    ended: list[int] = []

    def has_ended() -> bool:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended.append(os.waitstatus_to_exitcode(status))
        return bool(ended)

    until(has_ended, 30)
    return ended[0]


def test_forked_child_ends_cleanly_and_the_parent_goes_on() -> None:
    """The child leaves the ``with`` block, as it does after an exception or sys.exit: it must not wait in there."""
    with busy() as hosted:
        goes_on(hosted)
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    hosted.__exit__(None, None, None)
                    for call in (hosted.wait, hosted.stats, hosted.stop):
                        try:
                            call()
                        except FsShelterError as error:
                            code = 0 if "forked" in str(error) else 2
                finally:
                    os._exit(code)
            assert exit_code(pid) == 0
        goes_on(hosted)
    assert hosted.state == "stopped"


def test_program_that_forks_inside_the_with_block_ends_in_both_processes() -> None:
    """With all that Python does at exit, in the child too."""
    program = """
        import os, sys, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from tests.hostile.test_fork import busy, goes_on, exit_code

        with busy() as hosted:
            goes_on(hosted)
            pid = os.fork()
            if pid == 0:
                sys.exit(7)
            assert exit_code(pid) == 7
            goes_on(hosted)
        print(hosted.state)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


def square(n: int) -> int:
    return n * n


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pool_of_processes_beside_a_running_topology(method: str) -> None:
    """Made by the main thread while tuples flow; the pool's workers end, and so does the topology."""
    with busy() as hosted:
        goes_on(hosted)
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, range(10)) == [n * n for n in range(10)]
        goes_on(hosted)
    assert hosted.state == "stopped"


def test_bolt_that_hands_its_work_to_processes() -> None:
    """A pool is made in make_args, in the executor's thread, and used by every call."""

    def make_args(ctx: TaskContext) -> Any:
        pools.append(multiprocessing.get_context("fork").Pool(2))
        return pools[-1]

    def work(pool: Any, number: Number, emit: Emit[Number]) -> None:
        emit(Number(pool.apply(square, (number.n,))))

    results: list[int] = []
    queue = NumberQueue(50)
    pools: list[Any] = []
    worker = Bolt.run(work, make_args=make_args)
    sink = Bolt.run(lambda number, emit: results.append(number.n))
    with run_no_restart(chained(queue.spout(), worker, sink)) as hosted:
        assert hosted.wait(60).ok
    for pool in pools:
        pool.terminate()
        pool.join()
    assert sorted(results) == [n * n for n in range(50)]


def test_program_that_never_stops_its_topology_ends_all_the_same() -> None:
    """Its threads are daemons; nothing is printed, nothing hangs, and the exit code is its own."""
    program = """
        import sys
        from tests.hostile.test_fork import busy, goes_on

        hosted = busy()
        goes_on(hosted)
        print("done")
        sys.exit(3)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "done\n", "")
