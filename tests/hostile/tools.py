"""What the tests of this directory share: logs that are kept, a source that keeps its own queue, a way to block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import structlog

from fsshelter_py import END, Bolt, Collector, Delivery, EndOfInput, NackReason, Spout, Topology
from fsshelter_py.testing import TopologyHarness
from tests.shapes import Number, linked

__all__ = ["NEVER", "Log", "NumberQueue", "block", "chained", "released", "until"]


class Log:
    """Keeps the events of a topology's loggers. ``start_log`` is what ``run_with`` and the harness take."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def start_log(self, task_id: int) -> Any:
        return structlog.wrap_logger(None, processors=[self._keep], wrapper_class=structlog.BoundLogger)

    def _keep(self, logger: Any, method: str, event: Any) -> Any:
        self.entries.append({"level": method, **event})
        raise structlog.DropEvent

    def named(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.entries if entry["event"] == event]


class NumberQueue:
    """A message queue outside the runtime: it keeps each number until it is acked, and counts who took it how often."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._waiting = list(range(count))[::-1]
        self._taken: set[int] = set()
        self.acks: dict[int, int] = {}
        self.nacks: list[NackReason] = []
        self.taken = 0
        self.deactivated = 0
        self.after_deactivation = 0

    def take(self) -> tuple[int, Number] | EndOfInput:
        with self._lock:
            if not self._waiting:
                return END
            number = self._waiting.pop()
            assert number not in self._taken
            self._taken.add(number)
            self.taken += 1
            return number, Number(number)

    def ack(self, number: int) -> None:
        with self._lock:
            self._taken.remove(number)
            self.acks[number] = self.acks.get(number, 0) + 1

    def nack(self, number: int, reason: NackReason) -> None:
        with self._lock:
            self._taken.remove(number)
            self._waiting.append(number)
            self.nacks.append(reason)

    def settled_since(self) -> None:
        with self._lock:
            self.deactivated += 1
            assert not self._taken, "deactivated with tuples unsettled"

    @property
    def left(self) -> int:
        with self._lock:
            return len(self._waiting) + len(self._taken)

    def spout(self, next: Callable[[NumberQueue], Any] | None = None) -> Spout:
        """One task may be deactivated while another has tuples unsettled: only with one is that checked."""
        return Spout.run_reliable(
            next or (lambda queue: queue.take()),
            make_args=lambda ctx: self,
            make_acker=lambda queue: (queue.ack, queue.nack),
            deactivate=NumberQueue.settled_since,
        )


def _keep(delivery: Delivery[Any], collector: Collector[Any]) -> None:
    """Neither ack nor fail it."""


NEVER = Bolt.run_manual(_keep)
"""A bolt that never settles anything."""


def chained(source: Spout, *bolts: Bolt, **conf: Any) -> Topology:
    """A topology in a row, each on ``Number``."""
    return linked(*pairwise((source, *bolts)), **conf)  # type: ignore[arg-type]


_blocked: list[str] = []


def block(harness: TopologyHarness, secs: float, on: str = "shared") -> None:
    """From within user code: hold this executor for so long, while all the others go on."""
    _blocked.append(on)
    until = harness.clock.now() + secs
    while (now := harness.clock.now()) < until:
        harness.clock.advance(min(until - now, 0.05))
        for executor in harness.runtime.executors:
            if executor.name not in _blocked:
                executor.turn()
    _blocked.pop()


def until(done: Callable[[], object], timeout: float = 30.0) -> None:
    """Wait for something that no event tells of. Raises ``TimeoutError``."""
    waiting = threading.Event()
    for _ in range(int(timeout * 100)):
        if done():
            return
        waiting.wait(0.01)
    raise TimeoutError("it did not happen")


@contextmanager
def released(event: threading.Event) -> Iterator[threading.Event]:
    """Set the event at the end whatever happens, so that a failed test leaves no thread stuck."""
    try:
        yield event
    finally:
        event.set()
