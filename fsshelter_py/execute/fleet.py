"""The worker processes of a topology, as the main process sees them: started, told, watched, ended.

Thread contract. Started and closed by one thread. ``tell`` may be called from any. What the workers say comes in by the
postman, a thread of its own here; it hands on what concerns the coordinator, and keeps the latest of what was told.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsshelter_py.build.assignment import Assignment
from fsshelter_py.errors import WorkerDiedError
from fsshelter_py.execute.counts import TaskCounts
from fsshelter_py.execute.exchange import Exchange
from fsshelter_py.execute.part import LocalPart
from fsshelter_py.execute.reading import UNKNOWN, Reading
from fsshelter_py.execute.share import files_of_modules, packed_share
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.ids import ComponentId, TaskId
from fsshelter_py.model.topology import Topology
from fsshelter_py.post import PostOffice

__all__ = ["Fleet"]

_START_SECS = 120.0
_HALT_SECS = 5.0
_LONGEST_PATH = 80
"""The path of a socket may have about 100 characters, by the operating system."""


class RemotePart:
    """The part of one worker, as a stop sees it. ``fleet`` hears its answers."""

    def __init__(self, fleet: Fleet, worker: int) -> None:
        self._fleet = fleet
        self._worker = worker

    def deactivate(self, task_ids: Sequence[TaskId]) -> None:
        """Deactivate tasks."""
        self._fleet.tell(self._worker, "deactivate", list(task_ids))

    def is_gone(self, task_id: TaskId) -> bool:
        """Whether its process is dead."""
        return self._fleet.has_died(self._worker)

    def abandon(self, task_ids: Sequence[TaskId]) -> None:
        """Give tasks up."""
        self._fleet.tell(self._worker, "abandon", list(task_ids))


class Fleet:
    """The processes beside this one, by number."""

    def __init__(
        self, topology: Topology, assignment: Assignment, on_exception: Callable[[BaseException], None]
    ) -> None:
        self._topology = topology
        self._assignment = assignment
        self._on_exception = on_exception
        self.workers = range(1, assignment.workers)
        self.parts = {worker: RemotePart(self, worker) for worker in self.workers}
        self.readings: dict[int, Reading] = dict.fromkeys(self.workers, UNKNOWN)
        """What each said of itself when it last changed."""
        self._counts: dict[int, list[TaskCounts]] = {}
        self._unresolved: Mapping[ComponentId, Unresolved] = {}
        self._processes: dict[int, tuple[subprocess.Popen[bytes], int]] = {}
        self._shares: dict[int, bytes] = {}
        self._reported: set[int] = set()
        self._ready: set[int] = set()
        self._halted: set[int] = set()
        self._broken: BaseException | None = None
        self._said = threading.Condition()
        self._directory = _directory()
        self._post = PostOffice(self._directory, 0)
        self.exchange = Exchange(self._post, topology, assignment)
        self._postman: threading.Thread | None = None

    def launch(self, unresolved: Mapping[ComponentId, Unresolved], log_level: int) -> None:
        """Start the processes; they have no part to build before ``begin``, but take their time to come up.

        Raises ``TopologyError`` for components that cannot be sent.
        """
        self._unresolved = unresolved
        self._shares = {worker: self._share(worker, log_level) for worker in self.workers}
        for worker in self.workers:
            self._launch(worker)

    def begin(self, part: LocalPart, functions: Mapping[str, Callable[..., None]]) -> None:
        """Send each its part, and wait until it has built it.

        part: that of this process, for what will come in. functions: what letters may ask for beyond what concerns the
        fleet and the exchange. Raises ``WorkerDiedError``, or what kept a part from being built.
        """
        self.exchange.join(part.tasks)
        own = {"ready": self._is_ready, "broken": self._is_broken, "halted": self._has_halted}
        own |= {"count": self._counts.__setitem__, "end": self._post.end}
        self._postman = threading.Thread(
            target=self._post.serve,
            args=({**self.exchange.functions, **own, **functions}, self._on_exception),
            name=f"fsshelter:{self._topology.name}:postman",
            daemon=True,
        )
        self._postman.start()
        for worker, share in self._shares.items():
            self._brief(worker, share)
        self._shares.clear()
        self._wait_ready()

    def _share(self, worker: int, log_level: int) -> bytes:
        here = self._assignment.components_of(worker)
        unresolved = {name: one.copy() for name, one in self._unresolved.items() if name in here}
        return packed_share(self._topology, self._assignment, here, unresolved=unresolved, log_level=log_level)

    def _launch(self, worker: int) -> None:
        reading, writing = os.pipe()
        program = f"import sys; sys.path[:] = {sys.path!r}; from fsshelter_py.execute.worker import main; main()"
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        try:
            process = subprocess.Popen(
                [sys.executable, *flags, "-c", program, str(reading)],
                stdin=subprocess.DEVNULL,
                pass_fds=(reading,),
                process_group=0,  # Ctrl-C on a terminal is for the main process
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        self._processes[worker] = process, writing

    def _brief(self, worker: int, share: bytes) -> None:
        start = {
            "directory": str(self._directory),
            "worker": worker,
            "path": list(sys.path),
            "argv": list(sys.argv),
            "files": files_of_modules(share),
        }
        try:
            with os.fdopen(self._processes[worker][1], "wb", closefd=False) as stream:
                pickle.dump(start, stream)
                pickle.dump(share, stream)
        except BrokenPipeError:
            raise self._death(worker, " before it had begun") from None

    def _wait_ready(self) -> None:
        until = time.monotonic() + _START_SECS
        with self._said:
            while self._broken is None and len(self._ready) < len(self.workers):
                for worker in self.workers:
                    if worker not in self._ready and self.has_died(worker):
                        raise self._death(worker, " before it had begun")
                if time.monotonic() > until:
                    raise TimeoutError(f"worker processes have not begun after {_START_SECS:.0f} s")
                self._said.wait(0.05)
            if self._broken is not None:
                raise self._broken

    # --- by the postman ---------------------------------------------------------------------------------------------

    def _is_ready(self, worker: int) -> None:
        with self._said:
            self._ready.add(worker)
            self._said.notify_all()

    def _is_broken(self, worker: int, error: BaseException) -> None:
        with self._said:
            self._broken = error
            self._said.notify_all()

    def _has_halted(self, worker: int, counts: list[TaskCounts], unresolved: Mapping[ComponentId, Unresolved]) -> None:
        self._counts[worker] = counts
        for name, theirs in unresolved.items():
            if name in self._unresolved:
                self._unresolved[name].merge(theirs)
        with self._said:
            self._halted.add(worker)
            self._said.notify_all()

    # --- any thread -------------------------------------------------------------------------------------------------

    def tell(self, worker: int, name: str, *arguments: Any) -> None:
        """Have a worker do something."""
        self._post.tell(worker, name, *arguments)

    def tell_all(self, name: str, *arguments: Any) -> None:
        """Have all of them do something."""
        for worker in self.workers:
            self.tell(worker, name, *arguments)

    def has_died(self, worker: int) -> bool:
        """Whether the process has ended."""
        return self._processes[worker][0].poll() is not None

    def deaths(self) -> Iterator[WorkerDiedError]:
        """Those that have died, each once."""
        for worker in self.workers:
            if worker not in self._reported and self.has_died(worker):
                self._reported.add(worker)
                yield self._death(worker)

    def _death(self, worker: int, when: str = "") -> WorkerDiedError:
        process = self._processes[worker][0]
        try:
            code: int | None = process.wait(1.0)
        except subprocess.TimeoutExpired:
            code = None
        return WorkerDiedError(worker, code, when)

    def counts(self) -> list[TaskCounts]:
        """What the tasks of all of them counted when they last told."""
        return [counts for worker in list(self._counts.values()) for counts in worker]

    # --- the end ----------------------------------------------------------------------------------------------------

    def halt(self) -> None:
        """Tell them to end; ``close`` waits for it."""
        self.tell_all("halt")

    def wait_halted(self) -> None:
        """Wait until all have told their last counts, for a few seconds at most."""
        until = time.monotonic() + _HALT_SECS
        with self._said:
            while not all(worker in self._halted or self.has_died(worker) for worker in self.workers):
                if time.monotonic() > until:
                    return
                self._said.wait(0.05)

    def close(self) -> None:
        """End the processes, those that do not answer too, and free the sockets."""
        for worker, (process, writing) in self._processes.items():
            if worker in self._halted:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
            process.kill()
            process.wait()
            os.close(writing)
        if self._postman is not None:
            self._post.tell(0, "end")
            self._postman.join(1.0)
        if self._postman is None or not self._postman.is_alive():  # else it is in user code, by way of a logger
            self._post.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def _directory() -> Path:
    """A directory for the sockets that only this user may enter."""
    path = tempfile.mkdtemp(prefix="fsshelter-")
    if len(path) > _LONGEST_PATH:
        os.rmdir(path)
        path = tempfile.mkdtemp(prefix="fsshelter-", dir="/tmp")
    return Path(path)
