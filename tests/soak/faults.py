"""Failures to inject: each kind with a rate and a budget, so that a case ends by itself once they are spent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from random import Random

from tests.soak.tally import Tally

__all__ = ["Faults", "Killed", "is_injected"]

_MARK = "injected"
_RAISED: tuple[type[BaseException], ...] = (
    ValueError,
    ValueError,
    TimeoutError,
    asyncio.CancelledError,
    SystemExit,
    KeyboardInterrupt,
)


class Killed(BaseException):
    """Ends an executor's thread."""

    def __init__(self) -> None:
        super().__init__(f"{_MARK}: kill")


class Faults:
    """Draws failures; any thread may ask."""

    def __init__(self, random: Random, menu: Mapping[str, tuple[float, int]], tally: Tally) -> None:
        """menu: by kind how likely it is each time, and how often it may happen in all."""
        self._random = random
        self._menu = menu
        self._left = {kind: budget for kind, (_, budget) in menu.items()}
        self._lock = threading.Lock()
        self._tally = tally

    def hit(self, kind: str) -> bool:
        """Whether this failure is to happen now; it is counted as injected then."""
        with self._lock:
            if not self._left.get(kind) or self._random.random() >= self._menu[kind][0]:
                return False
            self._left[kind] -= 1
        self._tally.count(f"injected {kind}")
        return True

    def left(self, kind: str) -> int:
        """How often this may still happen."""
        with self._lock:
            return self._left[kind]

    def crash(self, kind: str) -> None:
        """Raise, if it is to happen now."""
        if self.hit(kind):
            raise self.error(kind)

    def error(self, kind: str) -> BaseException:
        """What user code raises, of any kind there is."""
        with self._lock:
            return self._random.choice(_RAISED)(f"{_MARK}: {kind}")

    def between(self, low: float, high: float) -> float:
        with self._lock:
            return self._random.uniform(low, high)


def is_injected(error: BaseException) -> bool:
    """Whether an error is, or comes of, an injected one."""
    return any(_MARK in str(one) for one in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
