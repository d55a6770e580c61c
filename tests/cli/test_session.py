"""A session: hosted, watched, drained by a time limit or a signal, and judged."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

import pytest

from fsshelter_py.cli import signals
from fsshelter_py.cli.report import QuietView
from fsshelter_py.cli.session import Session
from fsshelter_py.errors import TopologyFailedError
from fsshelter_py.model.stats import Stats, Summary
from fsshelter_py.model.topology import Topology

TOPOLOGY = Topology(name="t", spouts={}, bolts={}, streams=())
SUMMARY = Summary(topology="t", state="stopped", uptime_secs=1, restarts=0, components={})
WAIT = 10.0


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """The present moment."""
        return self.time


class Hosted:
    """A hosted topology whose waits follow a script: each step is run, and returns a summary or ``None``.

    When the script is over, it waits to be stopped.
    """

    def __init__(self, clock: Clock, *script: Callable[[], Summary | None]) -> None:
        self.last_error: BaseException | None = None
        self.waits: list[float | None] = []
        self.stopped = threading.Event()
        self.exited = False
        self._clock = clock
        self._script: Iterator[Callable[[], Summary | None]] = iter(script)

    def wait(self, timeout: float | None = None) -> Summary:
        """The next step; time passes."""
        self.waits.append(timeout)
        step = next(self._script, None)
        if step is None:
            assert self.stopped.wait(WAIT)
            return SUMMARY
        if (summary := step()) is not None:
            return summary
        self._clock.time += timeout or 0
        raise TimeoutError

    def stop(self, timeout: float | None = None) -> Summary:
        """Drained."""
        self.stopped.set()
        return SUMMARY

    def stats(self) -> Stats:
        """No component."""
        return SUMMARY

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.exited = True


class CountingView(QuietView):
    """Counts how often it was shown."""

    interval = 4.0

    def __init__(self) -> None:
        self.shown = 0

    def show(self, stats: Stats, error: BaseException | None) -> None:
        """Once more."""
        self.shown += 1


def nothing() -> None:
    """A wait that times out."""


def session(hosted: Hosted, clock: Clock, *, limit: float | None = None, view: QuietView | None = None) -> Session:
    """A session that hosts this."""
    return Session(lambda _: hosted, view or QuietView(), clock, limit)


def test_a_run_to_the_end_gives_the_summary_and_shows_on_the_way() -> None:
    """The view is shown at every wait that passes, at its own pace."""
    clock, view = Clock(), CountingView()
    hosted = Hosted(clock, nothing, nothing, lambda: SUMMARY)
    run = session(hosted, clock, view=view)

    assert run.run(TOPOLOGY) is SUMMARY
    assert (view.shown, hosted.waits) == (2, [4.0, 4.0, 4.0])
    assert run.signalled is None
    assert hosted.exited
    assert not hosted.stopped.is_set()


def test_the_time_limit_drains_at_its_moment() -> None:
    """The last wait is cut to what is left of it; after that the run goes on until it is drained."""
    clock = Clock()
    hosted = Hosted(clock, nothing, nothing)
    run = session(hosted, clock, limit=6.0, view=CountingView())

    assert run.run(TOPOLOGY) is SUMMARY
    assert hosted.waits == [4.0, 2.0, 4.0]
    assert hosted.stopped.is_set()
    assert run.signalled is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_drains(number: signal.Signals, code: int) -> None:
    """And the session remembers the exit code that shells give to it."""
    before = signal.getsignal(number)
    clock = Clock()
    hosted = Hosted(clock, lambda: signal.raise_signal(number))
    run = session(hosted, clock)

    assert run.run(TOPOLOGY) is SUMMARY
    assert hosted.stopped.is_set()
    assert run.signalled == code
    assert signal.getsignal(number) is before


def test_a_signal_while_the_topology_starts_drains_it_once_it_has() -> None:
    """It is not lost."""
    clock = Clock()
    hosted = Hosted(clock)

    def host(_: Topology) -> Hosted:
        signal.raise_signal(signal.SIGINT)
        return hosted

    run = Session(host, QuietView(), clock, None)
    assert run.run(TOPOLOGY) is SUMMARY
    assert run.signalled == 130


def test_the_second_signal_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is still going on, with the exit code of the second."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    with signals.Signals(nothing) as caught:
        signal.raise_signal(signal.SIGINT)
        assert codes == []
        signal.raise_signal(signal.SIGTERM)
    assert codes == [143]
    assert caught.exit_code is not None


def test_a_topology_that_fails_is_raised_with_its_last_snapshot_kept() -> None:
    """So that what it had done can still be shown."""
    clock = Clock()

    def fail() -> Summary | None:
        raise TopologyFailedError("gone")

    hosted = Hosted(clock, fail)
    run = session(hosted, clock)
    with pytest.raises(TopologyFailedError):
        run.run(TOPOLOGY)
    assert run.last is SUMMARY
    assert hosted.exited


def test_no_thread_is_left_after_a_run() -> None:
    """Drained or not."""
    before = threading.active_count()
    clock = Clock()
    session(Hosted(clock, lambda: SUMMARY), clock).run(TOPOLOGY)
    session(Hosted(clock, nothing), clock, limit=0.0).run(TOPOLOGY)
    assert threading.active_count() == before
