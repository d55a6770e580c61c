"""What a soak tried, counted, and what went wrong."""

from __future__ import annotations

import threading
from collections import Counter

__all__ = ["Tally"]


class Tally:
    """Any thread may count and complain; the program reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._problems: list[str] = []

    def count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self._counts[what] += times

    def problem(self, text: str) -> None:
        """Something that must not be."""
        with self._lock:
            self._problems.append(text)

    @property
    def problems(self) -> list[str]:
        with self._lock:
            return list(self._problems)

    def __getitem__(self, what: str) -> int:
        with self._lock:
            return self._counts[what]

    def injected(self) -> dict[str, int]:
        """The failures injected, by kind."""
        with self._lock:
            return {
                what.removeprefix("injected "): n for what, n in self._counts.items() if what.startswith("injected ")
            }
