"""A task's channel: a bounded data lane and a control lane that never waits.

Thread contract: see the mailbox, whose lock guards every field here. ``offer`` and ``put`` may be called from any
thread, ``open`` and ``close`` only by the executor.

Invariants, under the lock:
- count == sum(len(bundle[-1]) for bundle in data);
- count < capacity before a bundle is offered, so a ring holds fewer than capacity + the size of one bundle; what comes
  from another process is accepted beyond that: its sender has credit of its own;
- a producer is in ``waiters`` from a refusal until the next take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fsshelter_py.channel.mailbox import Mailbox, Waiter

__all__ = ["Channel"]


class Channel:
    """Many producers, one consumer. A bundle is a tuple whose last item is the list of tuples it carries."""

    __slots__ = (
        "capacity",
        "control",
        "count",
        "data",
        "endpoint",
        "is_open",
        "mailbox",
        "owner",
        "queued",
        "ring",
        "waiters",
    )

    def __init__(self, owner: Any, mailbox: Mailbox, capacity: int, *, endpoint: str, ring: Callable[[], None]) -> None:
        """``owner``: whose channel this is, handed out by ``take``. ``ring`` wakes the executor by this endpoint."""
        self.owner = owner
        self.mailbox = mailbox
        self.capacity = capacity
        self.endpoint = endpoint
        self.ring = ring
        self.data: list[Any] = []
        self.control: list[Any] = []
        self.count = 0
        self.waiters: set[Waiter] = set()
        self.is_open = True
        self.queued = False

    def offer(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> int:
        """Add bundles while there is room; returns how many. If not all, ``me`` is poked at the next take."""
        taken = 0
        wake = False
        with self.mailbox.lock:
            count, capacity, data = self.count, self.capacity, self.data
            for bundle in bundles:
                if count >= capacity:
                    self.waiters.add(me)
                    break
                data.append(bundle)
                count += len(bundle[-1])
                taken += 1
            self.count = count
            if taken and self.is_open:
                wake = self._announce()
        if wake:
            self.ring()
        return taken

    def accept(self, bundles: Sequence[tuple[Any, ...]], tuples: int, waiter: Waiter) -> None:
        """Add bundles of so many tuples, whatever the capacity; ``waiter`` is poked at the next take."""
        wake = False
        with self.mailbox.lock:
            self.data.extend(bundles)
            self.count += tuples
            self.waiters.add(waiter)
            if self.is_open:
                wake = self._announce()
        if wake:
            self.ring()

    def put(self, message: Any) -> None:
        """Add a control message."""
        with self.mailbox.lock:
            self.control.append(message)
            wake = self._announce()
        if wake:
            self.ring()

    def _announce(self) -> bool:
        """Under the lock: there is something to take. Whether the executor sleeps, and is to be rung afterwards."""
        mailbox = self.mailbox
        if not self.queued:
            self.queued = True
            mailbox.ready.append(self)
        wake, mailbox.asleep = mailbox.asleep, False
        return wake

    def close(self) -> None:
        """Leave the data lane alone from the next take on; control goes on."""
        with self.mailbox.lock:
            self.is_open = False

    def open(self) -> None:
        """Take data again."""
        mailbox = self.mailbox
        with mailbox.lock:
            self.is_open = True
            if self.data and not self.queued:
                self.queued = True
                mailbox.ready.append(self)
