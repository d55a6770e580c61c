"""A spout that emits a list and remembers what became of each tuple."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from fsshelter_py.model.component import Spout
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.outcome import END, EndOfInput, NackReason

__all__ = ["ListSpout"]

T = TypeVar("T")


class ListSpout(Generic[T]):
    """Emits the given tuples, tracked, and records their outcomes. ``spout`` is the component to put in a topology.

    With several tasks each tuple is emitted by one of them. Good for one run: what was emitted is not emitted anew.

    Thread contract: any thread may read; the records are copies, taken under the lock.

    >>> source = ListSpout([Word("to"), Word("be")])
    >>> @topology("emit-words")
    ... def emit_words():
    ...     words = source.spout
    ...     sink = Bolt.run(handle)
    ...     yield words >> sink | Shuffle.on(Word)
    >>> run_to_end(emit_words()).ok
    True
    >>> source.acked
    [Word(word='to'), Word(word='be')]
    """

    spout: Spout
    """The component; always the same one, so that it may be used in several streams."""

    def __init__(self, tuples: Iterable[T], *, max_attempts: int | None = 1) -> None:
        """max_attempts: how often a tuple that is nacked is emitted in all; None: until it is acked."""
        self._lock = threading.Lock()
        self._waiting = deque((index, tuple_) for index, tuple_ in enumerate(tuples))
        self._attempts = [0] * len(self._waiting)
        self._max_attempts = max_attempts
        self._emitted: list[T] = []
        self._acked: list[T] = []
        self._nacked: list[tuple[T, NackReason]] = []
        self.spout = Spout.run_reliable(self._next, make_acker=self._make_acker)

    @property
    def emitted(self) -> list[T]:
        """The tuples emitted so far, in order; one emitted again comes again."""
        with self._lock:
            return list(self._emitted)

    @property
    def acked(self) -> list[T]:
        """The tuples acked so far, in the order of their acks."""
        with self._lock:
            return list(self._acked)

    @property
    def nacked(self) -> list[tuple[T, NackReason]]:
        """The tuples nacked so far, each with the reason, in the order of their nacks."""
        with self._lock:
            return list(self._nacked)

    def _next(self, ctx: TaskContext) -> tuple[int, T] | EndOfInput:
        with self._lock:
            if not self._waiting:
                return END
            index, tuple_ = self._waiting.popleft()
            self._attempts[index] += 1
            self._emitted.append(tuple_)
            return index, tuple_

    def _make_acker(self, ctx: TaskContext) -> tuple[Callable[..., None], Callable[..., None]]:
        return self._ack, self._nack

    def _ack(self, index: int, *, tuple: Any) -> None:
        with self._lock:
            self._acked.append(tuple)

    def _nack(self, index: int, reason: NackReason, *, tuple: Any) -> None:
        with self._lock:
            self._nacked.append((tuple, reason))
            if self._max_attempts is None or self._attempts[index] < self._max_attempts:
                self._waiting.append((index, tuple))
