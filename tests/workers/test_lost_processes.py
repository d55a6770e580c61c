"""Processes that die, the workers and the main one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from fsshelter_py import END, Bolt, Emit, NackReason, Spout, TopologyFailedError, run, run_no_restart
from fsshelter_py.errors import WorkerDiedError
from fsshelter_py.testing import ListSpout
from tests.shapes import Number, linked, numbers
from tests.workers.conftest import children
from tests.workers.shared_book import SharedBook


class KeepingQueue:
    """A source of its own: it hands out numbers until it is to finish, and each again until it is acked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finishes = False
        self._waiting: deque[int] = deque()
        self.count = 0
        self._taken: set[int] = set()
        self.nacks: list[NackReason] = []
        self.acked = 0
        self.changed = threading.Condition(self._lock)

    def take(self, _: Any) -> Any:
        with self._lock:
            if not self._waiting:
                if self._finishes:
                    return END if not self._taken else None
                self._waiting.append(self.count)
                self.count += 1
            number = self._waiting.popleft()
            self._taken.add(number)
            return number, Number(number)

    def ack(self, number: int) -> None:
        with self._lock:
            self._taken.remove(number)
            self.acked += 1
            self.changed.notify_all()

    def nack(self, number: int, reason: NackReason) -> None:
        with self._lock:
            self._taken.remove(number)
            self._waiting.append(number)
            self.nacks.append(reason)

    def finish(self) -> None:
        """Hand out no new ones."""
        with self._lock:
            self._finishes = True

    @property
    def spout(self) -> Spout:
        return Spout.run_reliable(self.take, make_acker=lambda ctx: (self.ack, self.nack))

    def wait_for_acks(self, count: int) -> None:
        with self._lock:
            assert self.changed.wait_for(lambda: self.acked >= count, 60)


def pass_on(number: Number, emit: Emit[Number]) -> None:
    emit(number)


@pytest.mark.parametrize("times", [5])
def test_nothing_is_lost_when_workers_are_killed(times: int) -> None:
    """Again and again; it is no failure of the topology, so it goes on at once and for ever."""
    source = KeepingQueue()
    first, second = Bolt.run(pass_on).with_parallelism(2), Bolt.run(pass_on).with_parallelism(2)
    topology = linked((source.spout, first), (first, second), workers=2)
    others = children()

    def workers() -> set[int]:
        return children() - others

    with run(topology) as hosted:
        for _ in range(times):
            source.wait_for_acks(source.acked + 2_000)
            wait_until(workers)
            (worker,) = workers()
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: worker not in children())  # noqa: B023
        source.finish()
        summary = hosted.wait(60)
    assert source.acked == source.count
    assert summary.ok
    assert summary.restarts == times
    assert {reason.kind for reason in source.nacks} == {"stopped"}
    assert summary.nacks.get("stopped", 0) == len(source.nacks)


def test_worker_that_dies_before_anything_is_acked_fails_the_topology() -> None:
    """It would die again."""

    def crash(number: Number, emit: Emit[None]) -> None:
        os.kill(os.getpid(), signal.SIGKILL) if os.getppid() == main else None

    main = os.getpid()
    topology = linked((ListSpout(numbers(2)).spout, Bolt.run(crash).with_parallelism(2)), workers=2, acker_tasks=1)
    with run_no_restart(topology) as hosted, pytest.raises(TopologyFailedError) as caught:
        hosted.wait(30)
    error = caught.value.__cause__
    assert isinstance(error, WorkerDiedError)
    assert error.exit_code == -signal.SIGKILL
    assert str(error) == "worker process 1 ended by signal 9"


RELEASED = threading.Event()


def wait_for_release(number: Number, emit: Emit[None]) -> None:
    RELEASED.wait()


def test_spout_of_another_process_gives_back_what_a_stop_leaves(tmp_path: Path) -> None:
    """Its nack handler is called there, before the process ends; a thread stuck in user code does not hinder that."""
    nacked: SharedBook[str] = SharedBook(tmp_path / "nacked")

    def nack(number: int, reason: NackReason) -> None:
        nacked.append(reason.kind)

    spout = Spout.run_reliable(
        lambda left: left.pop() if left else None,
        make_args=lambda ctx: [(n, Number(n)) for n in range(3)],
        make_acker=lambda left: (print, nack),
    )
    bolt = Bolt.run(wait_for_release)
    topology = linked((spout.with_parallelism(2).with_conf(spout_workers="spread"), bolt), workers=2)
    with run_no_restart(topology) as hosted:
        # The other process's three; this one's spout shares its thread with the bolt, which may be stuck before it.
        while hosted.stats().emitted < 3:
            threading.Event().wait(0.01)
        hosted.stop(0)
    RELEASED.set()
    assert set(nacked) == {"stopped"}
    assert len(nacked) == hosted.stats().failed == hosted.stats().emitted


PROGRAM = """
import os, sys, threading, time
from fsshelter_py import Bolt, Shuffle, Spout, run, topology
from tests.shapes import Number

def work(number, emit):
    if not os.path.exists(sys.argv[1] + str(os.getpid())):
        with open(sys.argv[1] + str(os.getpid()), "w"):
            pass

@topology("endless")
def endless():
    spout = Spout.run_unreliable(lambda ctx: Number(1))
    bolt = Bolt.run(work).with_parallelism(3)
    yield spout >> bolt | Shuffle.on(Number)

if __name__ == "__main__":
    with run(endless().with_conf(workers=3)) as hosted:
        hosted.wait()
"""


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(holds: Any) -> None:
    for _ in range(6000):
        if holds():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come to hold")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "endless.py"
    path.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    return path


def workers_of(tmp_path: Path, main: int) -> set[int]:
    return {int(path.name.removeprefix("pid-")) for path in tmp_path.glob("pid-*")} - {main}


def test_workers_end_when_the_main_process_is_killed(tmp_path: Path, program: Path) -> None:
    """They notice, and take their sockets' directory with them."""
    sockets = tmp_path / "tmp"
    sockets.mkdir()
    main = subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "pid-")],
        env={**os.environ, "TMPDIR": str(sockets), "PYTHONPATH": os.getcwd()},
    )
    wait_until(lambda: len(workers_of(tmp_path, main.pid)) == 2)
    workers = workers_of(tmp_path, main.pid)
    main.kill()
    main.wait()
    wait_until(lambda: not any(is_running(worker) for worker in workers))
    wait_until(lambda: not list(sockets.iterdir()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_drains_at_a_signal_to_all_its_processes(tmp_path: Path, program: Path, number: signal.Signals) -> None:
    """As a terminal sends it to the whole group; no process is left."""
    command = [sys.executable, "-m", "fsshelter_py.cli", "run", str(program), "--workers", "3", "--quiet"]
    program.write_text(program.read_text(encoding="utf-8").replace("sys.argv[1]", repr(str(tmp_path / "pid-"))))
    main = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.getcwd()}, start_new_session=True)
    wait_until(lambda: len(workers_of(tmp_path, main.pid)) == 2)
    workers = workers_of(tmp_path, main.pid)
    for worker in workers:
        os.kill(worker, number)
    os.killpg(main.pid, number)
    assert main.wait(60) == 128 + number
    assert not any(is_running(worker) for worker in workers)
