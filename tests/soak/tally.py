"""What a soak tried, counted, and what went wrong."""

from __future__ import annotations

import threading
from collections import Counter

__all__ = ["Tally"]


class Tally:
    """Any thread may count and complain; the program reads."""

    def __init__(self, whole: Tally | None = None, title: str = "") -> None:
        """whole: what this is a part of. title: what its problems begin with."""
        self._lock: threading.Lock = whole._lock if whole is not None else threading.Lock()
        self._counts: Counter[str] = whole._counts if whole is not None else Counter()
        self._problems: list[str] = whole._problems if whole is not None else []
        self._title = title

    def of(self, title: str) -> Tally:
        """The same tally for a part of the whole."""
        return Tally(self, f"{title}: ")

    def count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self._counts[what] += times

    def problem(self, text: str) -> None:
        """Something that must not be."""
        with self._lock:
            self._problems.append(self._title + text)

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
