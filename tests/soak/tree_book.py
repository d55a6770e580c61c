"""What must have been handled before a source tuple may be acked, counted from outside by the components themselves."""

from __future__ import annotations

import threading
from collections import Counter

__all__ = ["SPAN", "TreeBook", "token_of"]

SPAN = 100_003
"""A tuple's ``n`` is its token * SPAN + what it says. The token names the emission it comes of, 0: none."""


def token_of(n: int) -> int:
    return n // SPAN


class TreeBook:
    """By token: how many deliveries were made of it and what it caused, how many were handled, and whether one failed.

    Every count is made before the runtime can know of what it counts; so whatever is acked is complete here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: Counter[int] = Counter()
        self._done: Counter[int] = Counter()
        self._failed: set[int] = set()

    def due(self, token: int, deliveries: int) -> None:
        if token:
            with self._lock:
                self._due[token] += deliveries

    def done(self, token: int) -> None:
        if token:
            with self._lock:
                self._done[token] += 1

    def fail(self, token: int) -> None:
        if token:
            with self._lock:
                self._failed.add(token)

    def is_failed(self, token: int) -> bool:
        return token in self._failed

    def open(self, token: int) -> str:
        """Why this token must not be acked; empty if it may."""
        with self._lock:
            if token in self._failed:
                return "a delivery of it failed"
            due, done = self._due[token], self._done[token]
            return "" if due == done else f"{done} of {due} deliveries were handled"
