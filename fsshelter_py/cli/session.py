"""One run of a topology in the foreground: hosted, watched, drained when told to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, Self

from fsshelter_py.cli.signals import Signals
from fsshelter_py.clock import Clock
from fsshelter_py.errors import FsShelterError
from fsshelter_py.model.stats import Stats, Summary
from fsshelter_py.model.topology import Topology

__all__ = ["Hosting", "Session", "View"]


class Hosting(Protocol):
    """What a session asks of a hosted topology; see ``fsshelter_py.host.Hosted``."""

    @property
    def last_error(self) -> BaseException | None:
        """The last error seen."""
        ...

    def wait(self, timeout: float | None = None) -> Summary:
        """The summary once it has ended. Raises ``TimeoutError`` and ``TopologyFailedError``."""
        ...

    def stop(self, timeout: float | None = None) -> Summary:
        """Drain and end it."""
        ...

    def stats(self) -> Stats:
        """A snapshot."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class View(Protocol):
    """Shows a run while it is entered; asked to every ``interval`` seconds."""

    @property
    def interval(self) -> float:
        """Seconds."""
        ...

    def show(self, stats: Stats, error: BaseException | None) -> None:
        """Show this snapshot, and the last error where there is one."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Session:
    """Runs a topology to its end.

    limit: drain after this many seconds. After ``run``, ``last`` is the latest snapshot and ``signalled`` the exit code
    of the signal that ended it, ``None`` where it ended otherwise.
    """

    def __init__(self, host: Callable[[Topology], Hosting], view: View, clock: Clock, limit: float | None) -> None:
        self.last: Stats | None = None
        self.signalled: int | None = None
        self._host = host
        self._view = view
        self._clock = clock
        self._limit = limit
        self._drain = _Drain()

    def drain(self) -> None:
        """Drain and end it; returns at once. From any thread, before it runs too."""
        self._drain.ask()

    def run(self, topology: Topology) -> Summary:
        """Run it. Raises ``TopologyFailedError``."""
        with Signals(self.drain) as signals:
            try:
                with self._host(topology) as hosted, self._drain.of(hosted), self._view:
                    return self._follow(hosted)
            finally:
                self.signalled = signals.exit_code

    def _follow(self, hosted: Hosting) -> Summary:
        end = None if self._limit is None else self._clock.now() + self._limit
        try:
            while True:
                left = self._view.interval if end is None else min(self._view.interval, end - self._clock.now())
                with suppress(TimeoutError):
                    return hosted.wait(max(0.0, left))
                self._view.show(hosted.stats(), hosted.last_error)
                if end is not None and self._clock.now() >= end:
                    end = None
                    self.drain()
        finally:
            self.last = hosted.stats()


class _Drain:
    """Stops a hosted topology in a thread of its own, so that the main one goes on showing it.

    Contract: ``ask`` is called from signal handlers too, before there is a topology as well; a ``SimpleQueue`` may be
    put to from inside itself, unlike everything else that could carry the request.
    """

    def __init__(self) -> None:
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Drain; returns at once."""
        self._requests.put(True)

    def of(self, hosted: Hosting) -> _Drain:
        """What is to be stopped."""
        self._thread = threading.Thread(target=self._serve, args=(hosted,), name="fsshelter-drain", daemon=True)
        return self

    def __enter__(self) -> _Drain:
        assert self._thread is not None
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        self._requests.put(False)
        self._thread.join()

    def _serve(self, hosted: Hosting) -> None:
        if self._requests.get():
            with suppress(FsShelterError):  # ``wait`` raises it too, in the main thread
                hosted.stop()
