"""SIGINT and SIGTERM: the first drains, the second ends at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["Signals"]

_SHOW_CURSOR = b"\x1b[?25h\n"


class Signals:
    """Handles both signals while it is entered.

    Contract: entered in the main thread, where handlers run between any two bytecodes. So ``on_first`` must take no
    lock that the main thread may hold, and the second signal takes none at all.
    """

    def __init__(self, on_first: Callable[[], None]) -> None:
        self.received: signal.Signals | None = None
        self._on_first = on_first
        self._before: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int | None:
        """128 and the number of the first signal, as shells have it: 130, 143; ``None`` if there was none."""
        return None if self.received is None else 128 + self.received

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.received is not None:
            end_at_once(number)
        self.received = signal.Signals(number)
        self._on_first()


def end_at_once(number: int) -> None:
    """End the process by a signal's exit code, whatever its threads are doing; the terminal's cursor is shown again."""
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        os.write(sys.__stderr__.fileno(), _SHOW_CURSOR)
    os._exit(128 + number)
