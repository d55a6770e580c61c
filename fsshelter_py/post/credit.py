"""Flow control between processes: a sender has credit with each task of another, as a ring has room.

A task's ring cannot be asked from another process whether it has room. So each sending process starts with as much
credit as the ring's capacity, spends it tuple by tuple, and is repaid what the task's executor has taken.

Invariant, for each sender and task, in tuples: credit left + on the way + in the ring + taken and not repaid yet
== capacity. At half the capacity taken it is repaid; so a sender that has none left is always going to be repaid, if
the executor goes on taking at all. As with a ring, one bundle may go beyond it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from fsshelter_py.channel import Channel, Mailbox

__all__ = ["Credit", "Debt"]


class Credit:
    """A process's credit with one task of another. Any of its executors may draw on it; the lock guards all."""

    def __init__(self, capacity: int) -> None:
        self._lock = threading.Lock()
        self._left = capacity
        self._waiting: set[Mailbox] = set()

    def draw(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> int:
        """How many of the bundles may be sent; they are paid for. If not all, ``me`` is poked when it is repaid."""
        tuples = sum([len(bundle[-1]) for bundle in bundles])
        with self._lock:
            if tuples <= self._left:
                self._left -= tuples
                return len(bundles)
            for count, bundle in enumerate(bundles):
                if self._left <= 0:
                    self._waiting.add(me)
                    return count
                self._left -= len(bundle[-1])
            return len(bundles)

    def repay(self, tuples: int) -> None:
        """So many tuples were taken, or not sent after all."""
        with self._lock:
            self._left += tuples
            waiting, self._waiting = self._waiting, set()
        for mailbox in waiting:
            mailbox.poke()


class Debt:
    """What a task owes one sending process: the tuples that came from it and were taken since it was last repaid.

    Thread contract: the postman receives, the task's executor pokes it when it takes. Tuples received between a take
    and its poke are repaid too early, so a ring may hold twice its capacity, at most.
    """

    def __init__(self, channel: Channel, repay: Callable[[int], None]) -> None:
        self._channel = channel
        self._repay = repay
        self._lock = threading.Lock()
        self._owed = 0
        self._threshold = max(1, channel.capacity // 2)

    def receive(self, bundles: Sequence[tuple[Any, ...]], tuples: int) -> None:
        """Put what came in the task's channel, whatever is in there."""
        with self._lock:
            self._owed += tuples
        self._channel.accept(bundles, tuples, self)

    def poke(self) -> None:
        """The channel was taken."""
        with self._lock:
            owed = self._owed
            if owed < self._threshold:
                return
            self._owed = 0
        self._repay(owed)

    def forgive(self, tuples: int) -> None:
        """Tuples came that did not get as far as the channel."""
        with self._lock:
            self._owed += tuples
        self.poke()
