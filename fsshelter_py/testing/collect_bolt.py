"""A bolt that keeps what it is handed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Never, TypeVar

from fsshelter_py.model.component import Bolt
from fsshelter_py.model.context import Emit, TaskContext
from fsshelter_py.model.ids import TaskId

__all__ = ["CollectBolt"]

T = TypeVar("T")


class CollectBolt(Generic[T]):
    """Collects the tuples of every stream that leads to it. ``bolt`` is the component to put in a topology.

    Thread contract: any thread may read and wait; what is read is a copy, taken under the lock.

    >>> sink = CollectBolt[Word]()
    >>> @topology("collect-words")
    ... def collect_words():
    ...     words = Spout.replaying(lambda ctx: [Word("to"), Word("be")])
    ...     collector = sink.bolt
    ...     yield words >> collector | Shuffle.on(Word)
    >>> run_to_end(collect_words()).ok
    True
    >>> sink.tuples
    [Word(word='to'), Word(word='be')]
    """

    bolt: Bolt
    """The component; always the same one, so that it may be used in several streams."""

    def __init__(self, *, fail_when: Callable[[T], bool] | None = None) -> None:
        """fail_when: tells of which tuples to fail the delivery, once they are collected."""
        self._condition = threading.Condition()
        self._received: list[tuple[TaskId, T]] = []
        self._fail_when = fail_when
        self.bolt = Bolt.run(self._consume, make_args=_itself)

    @property
    def received(self) -> list[tuple[TaskId, T]]:
        """What was collected so far, in order: the id of the task that was handed it, and the tuple."""
        with self._condition:
            return list(self._received)

    @property
    def tuples(self) -> list[T]:
        """The tuples collected so far, in order."""
        return [tuple_ for _, tuple_ in self.received]

    def wait_for(self, count: int, timeout: float = 30.0) -> list[T]:
        """Wait until so many tuples were collected and give them all; not for use with a stepped topology.

        Raises ``TimeoutError`` after ``timeout`` seconds.
        """
        with self._condition:
            if not self._condition.wait_for(lambda: len(self._received) >= count, timeout):
                raise TimeoutError(f"collected {len(self._received)} tuples in {timeout} s; expected {count}")
        return self.tuples

    def _consume(self, ctx: TaskContext, tuple_: Any, emit: Emit[Never]) -> None:
        with self._condition:
            self._received.append((ctx.task_id, tuple_))
            self._condition.notify_all()
        if self._fail_when is not None and self._fail_when(tuple_):
            raise ValueError(f"told to fail {tuple_!r}")


def _itself(ctx: TaskContext) -> TaskContext:
    return ctx
