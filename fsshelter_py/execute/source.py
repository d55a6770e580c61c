"""The three kinds of spout, as one protocol: where the tuples come from and who is told what became of them."""

from __future__ import annotations

import heapq
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from fsshelter_py.clock import Clock
from fsshelter_py.model.component import Backoff
from fsshelter_py.model.outcome import END, DeadLetter, EndOfInput, NackReason
from fsshelter_py.model.printed import printed

__all__ = ["ReliableSource", "ReplayingSource", "Source", "UnreliableSource"]


class Source(Protocol):
    """Where a spout task's tuples come from. Called by its executor's thread only."""

    tracked: bool
    hears_acks: bool
    """Whether it is to be told of acks of tuples that have no key."""

    def next(self, pending: int) -> Any:
        """``(key, tuple)``, None or END, or an awaitable of one; ``pending``: the unsettled tuples of the task."""
        ...

    def ack(self, key: Any, tuple: Any) -> Any:
        """The tuple was acked. What it returns is awaited if it is awaitable."""
        ...

    def nack(self, key: Any, tuple: Any, reason: NackReason) -> Any:
        """The tuple was nacked."""
        ...

    def due(self) -> float | None:
        """When a tuple that waits to be emitted again is due; None if there is none."""
        ...

    @property
    def dead(self) -> int:
        """Tuples given up."""
        ...

    @property
    def waiting(self) -> int:
        """Nacked tuples, and not dead letters, that wait to be emitted again."""
        ...

    @property
    def letters_acked(self) -> int:
        """Dead letters of those that were acked."""
        ...


class UnreliableSource:
    """Tuples that are never tracked."""

    tracked = hears_acks = False
    dead = letters_acked = waiting = 0

    def __init__(self, next: Callable[[Any], Any], args: Any) -> None:
        self._next = next
        self._args = args

    def next(self, pending: int) -> Any:
        return self._next(self._args)

    def ack(self, key: Any, tuple: Any) -> None:
        """Never called."""

    def nack(self, key: Any, tuple: Any, reason: NackReason) -> None:
        """Never called."""

    def due(self) -> None:
        return None


class ReliableSource:
    """Tuples with an id, whose acks and nacks go to the user's handlers."""

    tracked = hears_acks = True
    dead = letters_acked = waiting = 0

    def __init__(self, next: Callable[[Any], Any], args: Any, handlers: tuple[Any, Any] | None) -> None:
        self._next = next
        self._args = args
        ack, nack = handlers if handlers is not None else (None, None)
        self._ack = _handler(ack, with_reason=False)
        self._nack = _handler(nack, with_reason=True)

    def next(self, pending: int) -> Any:
        return self._next(self._args)

    def ack(self, key: Any, tuple: Any) -> Any:
        return self._ack(key, tuple, None)

    def nack(self, key: Any, tuple: Any, reason: NackReason) -> Any:
        return self._nack(key, tuple, reason)

    def due(self) -> None:
        return None


def _handler(function: Callable[..., Any] | None, *, with_reason: bool) -> Callable[[Any, Any, NackReason | None], Any]:
    """The user's handler under one signature, whatever of (tuple_id, reason, tuple) it takes."""
    if function is None:
        return lambda key, tuple, reason: None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin, such as a dict's pop, says nothing of its parameters: give it the id
        return lambda key, tuple, reason: function(key)
    positional = [
        p.name
        for p in parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "tuple"
    ]
    required = [name for name in positional if parameters[name].default is inspect.Parameter.empty]
    takes_rest = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    takes_reason = with_reason and (len(required) > 1 or "reason" in parameters or takes_rest)
    takes_tuple = "tuple" in parameters
    reason_by_name = "reason" in parameters and (positional[1:2] or [""])[0] != "reason"

    def call(key: Any, tuple: Any, reason: NackReason | None) -> Any:
        named = {"tuple": tuple} if takes_tuple else {}
        if not takes_reason:
            return function(key, **named)
        if reason_by_name:
            return function(key, reason=reason, **named)
        return function(key, reason, **named)

    return call if takes_reason or takes_tuple else lambda key, tuple, reason: function(key)


class _Entry:
    """A tuple that a replaying source emits again, with the number of times it was emitted."""

    __slots__ = ("attempts", "is_dead_letter", "tuple")

    def __init__(self, tuple: Any, attempts: int, *, is_dead_letter: bool = False) -> None:
        self.tuple = tuple
        self.attempts = attempts
        self.is_dead_letter = is_dead_letter


class ReplayingSource:
    """Any iterable, with each nacked tuple emitted again: when it is due, before anything new.

    A tuple given up becomes a ``DeadLetter``. That is a source tuple of its own, tracked and replayed alike; if it is
    given up too, or nobody subscribes dead letters, it is logged.

    Most tuples are acked at their first attempt: a tuple gets an entry, which is then its key, when it is nacked.
    """

    tracked = True
    hears_acks = False

    def __init__(
        self,
        items: Iterator[Any],
        *,
        max_attempts: int | None,
        backoff: Backoff | None,
        max_pending: int,
        clock: Clock,
        dead_letters: bool,
        log: Any,
    ) -> None:
        """dead_letters: whether the topology subscribes them."""
        self._items = items
        self._ended = False
        self._max_attempts = max_attempts
        self._backoff = backoff
        self._max_pending = max_pending
        self._clock = clock
        self._dead_letters = dead_letters
        self._log = log
        self._waiting: list[tuple[float, int, _Entry]] = []
        self._order = 0
        self.dead = self.letters_acked = 0

    def next(self, pending: int) -> tuple[_Entry | None, Any] | None | EndOfInput:
        if self._waiting and (self._waiting[0][0] <= 0 or self._waiting[0][0] <= self._clock.now()):
            entry = heapq.heappop(self._waiting)[2]
        elif self._ended:
            return END if not self._waiting else None
        elif pending + len(self._waiting) >= self._max_pending:
            return None
        else:
            item = next(self._items, END)
            if item is END:
                self._ended = True
                return END if not self._waiting else None
            return None if item is None else (None, item)
        entry.attempts += 1
        return entry, entry.tuple

    def ack(self, key: _Entry | None, tuple: Any) -> None:
        if key is not None:
            self.letters_acked += key.is_dead_letter

    def nack(self, key: _Entry | None, tuple: Any, reason: NackReason) -> None:
        if reason.kind == "stopped":
            return
        if key is None:
            key = _Entry(tuple, 1)
        if self._max_attempts is None or key.attempts < self._max_attempts:
            self._wait(key)
        elif key.is_dead_letter:
            self._log.error("dead_letter_lost", tuple=printed(tuple), reason=str(reason))
        else:
            self.dead += 1
            letter = DeadLetter(tuple, key.attempts, reason)
            if self._dead_letters:
                self._wait(_Entry(letter, 0, is_dead_letter=True))
            else:
                self._log.error("dead_letter", tuple=printed(tuple), attempts=key.attempts, reason=str(reason))

    def _wait(self, entry: _Entry) -> None:
        due = 0.0
        if self._backoff is not None and entry.attempts:
            seconds = self._backoff(entry.attempts) if callable(self._backoff) else self._backoff
            due = self._clock.now() + seconds
        self._order += 1
        heapq.heappush(self._waiting, (due, self._order, entry))

    def due(self) -> float | None:
        return self._waiting[0][0] if self._waiting else None

    @property
    def waiting(self) -> int:
        return sum(1 for _, _, entry in self._waiting if not entry.is_dead_letter)
