"""What an executor sleeps on and takes its work from.

Thread contract. Any thread may put, offer and poke; only the executor takes, opens, closes and sleeps. Everything here
and in the executor's channels is guarded by the one ``lock`` and right by mutual exclusion alone.

Invariants, under the lock:
- a channel is in ``ready``, once, exactly if it has control messages, or has data and is open (``channel.queued``);
- asleep implies not poked and ready is empty, at the moment it is set; whoever changes either clears it and rings.

So no wake is lost: what came before ``asleep`` was set is seen by the check in ``doze``; what comes after rings. A ring
that arrives after the receive timed out costs one spurious wake. ``poked`` is sticky: a poke while awake keeps the next
sleep from starting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from fsshelter_py.channel.doorbell import Doorbell

__all__ = ["Mailbox", "Waiter"]


class Waiter(Protocol):
    """Who is told that a channel was taken: a producer's mailbox, or what repays a producer in another process."""

    def poke(self) -> None:
        """The channel was taken. Called by its executor, without the lock."""
        ...


class Lanes(Protocol):
    """What a mailbox knows of a channel: its fields, which the mailbox's lock guards."""

    owner: Any
    control: list[Any]
    data: list[Any]
    count: int
    waiters: set[Waiter]
    is_open: bool
    queued: bool


class Mailbox:
    """The channels of one executor, as far as they hold something."""

    __slots__ = ("asleep", "bell", "lock", "poked", "ready", "ring")

    def __init__(self, bell: Doorbell | None, ring: Callable[[], None]) -> None:
        """``ring`` wakes the executor, from any thread; ``bell`` is what it sleeps on (None: it never sleeps)."""
        self.lock = threading.Lock()
        self.asleep = False
        self.poked = False
        self.ready: list[Lanes] = []
        self.bell = bell
        self.ring = ring

    def poke(self) -> None:
        """Keep the executor awake for a turn, or wake it. Any thread."""
        with self.lock:
            self.poked = True
            was, self.asleep = self.asleep, False
        if was:
            self.ring()

    def take(self) -> list[tuple[Any, list[Any], list[Any]]]:
        """What came in: ``(owner, control messages, data)`` of each ready channel; a closed one keeps its data."""
        if not self.ready:  # a stale read costs nothing: what is put later rings, or is seen by doze
            return []
        taken = []
        waiting: set[Waiter] = set()
        with self.lock:
            ready, self.ready = self.ready, []
            for channel in ready:
                channel.queued = False
                control = data = _NOTHING  # never the live lists, even while empty: what is put next would come twice
                if channel.control:
                    control, channel.control = channel.control, []
                if channel.is_open and channel.data:
                    data, channel.data, channel.count = channel.data, [], 0
                    if channel.waiters:
                        waiting |= channel.waiters
                        channel.waiters = set()
                taken.append((channel.owner, control, data))
        for producer in waiting:
            producer.poke()
        return taken

    def doze(self) -> bool:
        """Announce that the executor goes to sleep; False if there is something to do instead."""
        with self.lock:
            if self.poked or self.ready:
                self.poked = False
                return False
            self.asleep = True
            return True

    def rise(self) -> None:
        """Announce that it is awake."""
        with self.lock:
            self.asleep = self.poked = False

    def sleep(self, timeout_ms: int) -> None:
        """Sleep until something comes, for ``timeout_ms`` at most."""
        if self.bell is not None and self.doze():
            self.bell.wait(timeout_ms)
            self.rise()


_NOTHING: list[Any] = []
