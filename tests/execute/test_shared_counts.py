"""What two threads count, or end, together: nothing is lost and nothing done twice, whenever they are switched.

The interpreter's lock hides most of this, as it switches threads in few places; here a number waits inside its addition
until the other thread has had its chance.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.outcome import NackReason

_CHANCE_SECS = 0.2


class Slow(int):
    """A number whose first addition takes until ``go_on`` is set."""

    def __new__(cls) -> Slow:
        made = super().__new__(cls, 0)
        made.adding, made.go_on = threading.Event(), threading.Event()
        return made

    adding: threading.Event
    go_on: threading.Event

    def __add__(self, other: int) -> int:
        if not self.adding.is_set():
            self.adding.set()
            assert self.go_on.wait(30)
        return int(self) + other


def met(number: Slow, count: Callable[[], object]) -> None:
    """Two threads count, the second while the first is in the middle of it."""
    first, second = threading.Thread(target=count), threading.Thread(target=count)
    first.start()
    assert number.adding.wait(30)
    second.start()
    second.join(_CHANCE_SECS)  # it has ended by now, or waits for the first
    number.go_on.set()
    first.join(30)
    second.join(30)


def spout_task(unresolved: Unresolved) -> Any:
    def nothing(*_: Any, **__: Any) -> None:
        pass

    log = SimpleNamespace(debug=nothing, exception=nothing, error=nothing)
    conf = SimpleNamespace(max_spout_pending=9, sleep_spout_wait_strategy_time_ms=1)
    context: Any = SimpleNamespace(log=log, conf=conf, task_id=1, component="s")
    unused: Any = None
    task: Any = SpoutTask(context, unused, unused, unresolved, nothing)
    task._source = SimpleNamespace(nack=nothing, ack=nothing, waiting=1)
    return task


def test_tuples_left_over_by_several_tasks_are_all_counted() -> None:
    """All tasks of a spout count in one place, each in its thread."""
    unresolved = Unresolved(replaying=True)
    unresolved._more = number = Slow()
    met(number, lambda: unresolved.left(1))
    assert len(unresolved) == 2
    again = pickle.loads(pickle.dumps(unresolved))
    again.left(1)
    assert len(again) == 3


def test_nacks_by_an_executor_and_by_who_gives_it_up_are_all_counted() -> None:
    """It may come back from where it was stuck while its tuples are being nacked for it."""
    task = spout_task(Unresolved(replaying=True))
    task.failed = number = Slow()
    met(number, lambda: task._tell(1, None, NackReason("stopped", "s", 1)))
    assert task.failed == task.nacks["stopped"] == sum(count for count, _ in task._reasons.values()) == 2


def test_spout_is_deactivated_once_by_whoever_comes_first() -> None:
    """The executor comes back while it is being given up, and still believes that it has to wind down."""
    task = spout_task(Unresolved(replaying=False))
    calls: list[str] = []
    task._deactivate = lambda: calls.append("deactivate")

    def spawn(awaitable: Any, callback: Any) -> None:
        asyncio.run(awaitable)
        callback(None, None, None)

    task.started = True
    task.abandon()
    task.started, task._abandoned = True, False  # as the executor saw them last
    task._wind_down_by(SimpleNamespace(spawn=spawn), lambda: calls.append("deactivated"))
    assert calls == ["deactivate", "deactivated"]
