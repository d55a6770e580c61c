"""A source as a message queue would be: outside the runtime, keeping each number until it is acked."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from dataclasses import dataclass

from fsshelter_py import END, EndOfInput, NackReason
from tests.soak.tally import Tally
from tests.soak.tree_book import TreeBook

__all__ = ["Feed", "KeptQueue", "Rules"]

_tokens = itertools.count(1)


@dataclass(frozen=True)
class Rules:
    """What is checked of each settling.

    timeout_secs: no tuple may expire sooner. may_expire: whether any takes that long.
    failures_known: whether only trees in which a delivery failed may be nacked as failed; a batch fails others too.
    acks_at_once: there is no acker, an ack says nothing.
    """

    timeout_secs: float
    may_expire: bool
    max_pending: int
    failures_known: bool
    acks_at_once: bool


@dataclass(frozen=True)
class _Taken:
    number: int
    attempts: int
    when: float


class KeptQueue:
    """Numbers, each handed out again until it is acked, or given up after ``attempts``. Any thread may call it.

    lost: emissions neither acked nor nacked when their spout was deactivated. doubled: settled more than once.
    """

    def __init__(self, name: str, count: int, attempts: int, rules: Rules, book: TreeBook, tally: Tally) -> None:
        self.name = name
        self.rules = rules
        self.book = book
        self._tally = tally
        self._count = count
        self._attempts = attempts
        self._lock = threading.Lock()
        self._waiting = deque((number, 0) for number in range(count))
        self._settled: set[int] = set()
        self._feeds: list[Feed] = []
        self.done = self.emitted = self.acked = self.nacked = 0

    def feed(self) -> Feed:
        """What one task of one run takes from."""
        feed = Feed(self)
        with self._lock:
            self._feeds.append(feed)
        return feed

    def take(self, feed: Feed) -> tuple[int, int] | EndOfInput | None:
        """``(token, number)``; nothing for a task that was stuck in ``next`` until it was given up."""
        with self._lock:
            if feed.is_closed:
                self._tally.count("asked by a task given up")
                return None
            if not self._waiting:
                return END
            number, attempts = self._waiting.popleft()
            token = next(_tokens)
            feed.taken[token] = _Taken(number, attempts + 1, time.monotonic())
            self.emitted += 1
            if len(feed.taken) > self.rules.max_pending:
                self.complain(f"{len(feed.taken)} tuples pending of {self.rules.max_pending}")
        self._tally.count("tuples")
        return token, number

    def ack(self, feed: Feed, token: int) -> None:
        with self._lock:
            if self._settle(feed, token, "acked") is None:
                return
            self.acked += 1
            self.done += 1
        self._tally.count("acked")
        if not self.rules.acks_at_once and (why := self.book.open(token)):
            self.complain(f"token {token} was acked, though {why}")

    def nack(self, feed: Feed, token: int, reason: NackReason) -> tuple[int, int] | None:
        """What ``put_back`` is to be called with."""
        with self._lock:
            taken = self._settle(feed, token, "nacked")
            if taken is None:
                return None
            self.nacked += 1
        self._tally.count("nacked")
        self._tally.count(f"nacked {reason.kind}")
        if reason.kind == "timeout":
            took = time.monotonic() - taken.when
            if not self.rules.may_expire:
                self.complain(f"token {token} expired ({reason}), though nothing takes so long")
            if took < self.rules.timeout_secs:
                self.complain(f"token {token} expired after {took:.3f} s of {self.rules.timeout_secs} s")
        elif reason.kind == "failed" and self.rules.failures_known and not self.book.is_failed(token):
            self.complain(f"token {token} was nacked ({reason}), though nothing of it failed")
        return taken.number, taken.attempts

    def put_back(self, number: int, attempts: int) -> None:
        """Hand it out again, unless it was tried often enough."""
        with self._lock:
            if attempts < self._attempts:
                self._waiting.append((number, attempts))
            else:
                self.done += 1
                self._tally.count("given up")

    def close(self, feed: Feed) -> None:
        """The spout task is deactivated: a quiet moment, at which everything it emitted must be settled."""
        with self._lock:
            if feed.is_closed:
                self.complain("deactivated twice")
            feed.is_closed = True
            self._check(feed)
        self._tally.count("quiet moments")

    def end_run(self) -> None:
        """A hosted topology has ended."""
        with self._lock:
            for feed in self._feeds:
                if not feed.is_closed:
                    self.complain("never deactivated")
                self._check(feed)
            self._feeds.clear()
            if self.emitted != self.acked + self.nacked:
                self.complain(f"emitted {self.emitted}, acked {self.acked}, nacked {self.nacked}")

    @property
    def left(self) -> int:
        """Numbers neither acked nor given up."""
        with self._lock:
            return self._count - self.done

    def complain(self, text: str) -> None:
        self._tally.problem(f"{self.name}: {text}")

    def _settle(self, feed: Feed, token: int, how: str) -> _Taken | None:
        taken = feed.taken.pop(token, None)
        if taken is None:
            self._tally.count("doubled" if token in self._settled else "strange")
            self.complain(f"token {token} was {how}, and settled before: {token in self._settled}")
        self._settled.add(token)
        return taken

    def _check(self, feed: Feed) -> None:
        if feed.taken:
            self._tally.count("lost", len(feed.taken))
            self.complain(f"lost {len(feed.taken)}: unsettled when deactivated: {list(feed.taken.items())[:5]}")
            feed.taken.clear()


class Feed:
    """One task's share of a queue, in one run of the topology."""

    def __init__(self, queue: KeptQueue) -> None:
        self.queue = queue
        self.taken: dict[int, _Taken] = {}
        self.is_closed = False
