"""A worker process: one part of a topology, told by letters from the main process what to do.

Its main thread is the postman. It ends when told to, and at once when the main process is gone: a pipe from there,
which nobody ever writes to after the start, then ends. Signals to stop are the main process's: it drains them all.
"""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from fsshelter_py.clock import MonotonicClock
from fsshelter_py.execute.counts import TaskCounts
from fsshelter_py.execute.exchange import Exchange
from fsshelter_py.execute.forwarding import forwarding_log
from fsshelter_py.execute.hooks import Hooks
from fsshelter_py.execute.part import LocalPart
from fsshelter_py.execute.share import Share
from fsshelter_py.garbage import collect_less
from fsshelter_py.post import PostOffice, unpack

__all__ = ["main"]

_MAIN = 0
_LAST_LETTERS_MS = 1000


class Worker:
    """The part, and the functions that letters call."""

    def __init__(self, share: Share, post: PostOffice) -> None:
        self._post = post
        self._tell = partial(post.tell, _MAIN)
        self._unresolved = share.rest["unresolved"]
        self._told: list[TaskCounts] = []
        self._telling = threading.Lock()
        level = share.rest["log_level"]
        topology = share.topology
        exchange = Exchange(post, topology, share.assignment)
        self.part = LocalPart(
            topology,
            share.assignment,
            Hooks(
                start_log=lambda task_id: forwarding_log(self._tell, task_id, level),
                on_exception=lambda error: self._tell("error", error),
                on_change=lambda: self._tell_reading("changed"),
                on_started=lambda: self._tell("started"),
                on_deactivated=lambda task_id: self._tell("deactivated", task_id),
                on_stop=lambda: self._tell("stop"),
                on_turn=self._tell_counts,
                unresolved=self._unresolved,
            ),
            MonotonicClock(),
            worker=post.me,
            exchange=exchange,
        )
        exchange.join(self.part.tasks)
        self.functions: Mapping[str, Callable[..., None]] = {
            **exchange.functions,
            "activate": self._activate,
            "pause": self.part.pause,
            "flush": self.part.flush,
            "read": lambda round: self._tell_reading("answer", round),
            "deactivate": self.part.deactivate,
            "abandon": self.part.abandon,
            "halt": self._halt,
        }

    def check(self) -> None:
        """By the postman, now and then."""
        if (death := self.part.watchman_death) is not None:
            self._tell("error", death)

    def _activate(self) -> None:
        self.part.activate()
        self._tell_reading("changed")

    def _tell_reading(self, name: str, *arguments: int) -> None:
        """Under a lock, so that of two threads that read, the one that reads last also tells last."""
        with self._telling:
            self._tell(name, *arguments, self._post.me, self.part.reading())

    def _tell_counts(self) -> None:
        counts = self.part.counts()
        if counts != self._told:
            self._told = counts
            self._tell("count", self._post.me, counts)

    def _halt(self) -> None:
        self.part.shutdown()
        counts, me = self.part.counts(), self._post.me
        try:
            self._tell("halted", me, counts, self._unresolved)
        except Exception:  # tuple ids of a kind that cannot be packed: nothing says what became of them
            self._tell("halted", me, counts, {})
        self._post.end()


class _Files:
    """Finds modules by the files that the main process has loaded them from."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As the import system asks for it; the packages above a module are made up where there are none."""
        if name in self._files:
            return spec_from_file_location(name, self._files[name])
        if any(module.startswith(f"{name}.") for module in self._files):
            return ModuleSpec(name, None, is_package=True)
        return None


def main() -> None:
    """The program of a worker process: its only argument is the pipe from the main process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    pipe = int(sys.argv[1])
    with os.fdopen(pipe, "rb", closefd=False) as stream:
        start = pickle.load(stream)
        packed = pickle.load(stream)
    directory = Path(start["directory"])
    threading.Thread(target=_watch, args=(pipe, directory), name="fsshelter:parent", daemon=True).start()
    sys.argv = start["argv"]
    sys.path[:] = start["path"]
    sys.meta_path.append(_Files(start["files"]))
    post = PostOffice(directory, start["worker"])
    try:
        worker = Worker(unpack(packed), post)
    except BaseException as error:
        post.tell(_MAIN, "broken", post.me, error)
    else:
        collect_less()
        post.tell(_MAIN, "ready", post.me)
        post.serve(worker.functions, lambda error: post.tell(_MAIN, "error", error), worker.check)
    post.close(_LAST_LETTERS_MS)


def _watch(pipe: int, directory: Path) -> None:
    """End this process when the main one is gone, even if another process has inherited its end of the pipe."""
    parent = os.getppid()
    while os.getppid() == parent:
        readable, _, _ = select.select([pipe], [], [], 1.0)
        if readable:
            break
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(1)
