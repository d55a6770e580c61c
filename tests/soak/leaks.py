"""What a topology that has ended must have left behind: nothing."""

from __future__ import annotations

import gc
import os
import statistics
import threading
import time

__all__ = ["Leaks"]

_PATIENCE_SECS = 20.0
"""For threads that were stuck in user code when their topology was given up: they end with what they are stuck in."""

_GROWTH = 1.2
_SLACK_MB = 16.0


class Leaks:
    """Compares threads and files with those at the start, and memory over the run."""

    def __init__(self) -> None:
        self._threads = threading.active_count()
        self._files = _files()
        self._began = time.monotonic()
        self._memory: list[tuple[float, float]] = []

    def look(self) -> str:
        """What is left; empty if nothing. Waits for a while for it to go."""
        until = time.monotonic() + _PATIENCE_SECS
        while left := self._left():
            if time.monotonic() > until:
                return left
            gc.collect()  # the context of a topology whose thread was stuck is freed with its last socket
            time.sleep(0.02)
        self._memory.append((time.monotonic() - self._began, memory_mb()))
        return ""

    def _left(self) -> str:
        threads, files = threading.active_count(), _files()
        if threads <= self._threads and files <= self._files:
            return ""
        names = sorted(thread.name for thread in threading.enumerate())
        return f"{threads} threads of {self._threads} ({names}), {files} files of {self._files}"

    def growth(self) -> str:
        """How memory grew, if it did: the last fifth of the run beside the second one; the first is for warming up."""
        if not self._memory or self._memory[-1][0] < 120:
            return ""
        whole = self._memory[-1][0]
        early = [mb for when, mb in self._memory if 0.2 * whole <= when < 0.4 * whole]
        late = [mb for when, mb in self._memory if when >= 0.8 * whole]
        if not early or not late:
            return ""
        first, last = statistics.median(early), statistics.median(late)
        return f"memory grew from {first:.0f} to {last:.0f} MB" if last > first * _GROWTH + _SLACK_MB else ""


def _files() -> int:
    return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


def memory_mb() -> float:
    """Resident memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
