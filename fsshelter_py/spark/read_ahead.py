"""Partitions read while the ones before them are worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Final

from fsshelter_py.model.outcome import END, EndOfInput
from fsshelter_py.spark.partitions import Partition

__all__ = ["ReadAhead"]

_CANCEL_EVERY_SECS: Final = 0.1


class ReadAhead:
    """Partitions in order, one read ahead of the one that is worked on: so two of them are in memory, and no more.

    Thread contract: one thread calls ``take`` and ``close``. One thread of its own reads; ``on_ready`` is called there.
    """

    def __init__(self, partitions: Callable[[], Iterable[Partition]], on_ready: Callable[[], None], name: str) -> None:
        """partitions: called in the reading thread, and iterated there."""
        self._partitions = partitions
        self._on_ready = on_ready
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._iterator: Iterator[Partition] | None = None
        self._closed = False
        self._next: Future[Partition | None] | None = None
        self._fetch()

    def take(self) -> Partition | None | EndOfInput:
        """The next partition, None if it is not there yet, END after the last. Raises what the reading raised."""
        future = self._next
        if future is None:
            return END
        if not future.done():
            return None
        self._next = None
        partition = future.result()
        if partition is None:
            return END
        self._fetch()
        return partition

    def close(self, cancel: Callable[[], None]) -> None:
        """End the reading. cancel: cancels the jobs that run now; one may be about to begin, so it is called again."""
        self._closed = True
        future, self._next = self._next, None
        while future is not None and not future.cancel() and not future.done():
            cancel()
            try:
                future.exception(_CANCEL_EVERY_SECS)
            except (TimeoutError, CancelledError):
                continue
        self._pool.shutdown()

    def _fetch(self) -> None:
        self._next = self._pool.submit(self._read)
        self._next.add_done_callback(lambda _: self._on_ready())

    def _read(self) -> Partition | None:
        if self._closed:
            return None
        if self._iterator is None:
            self._iterator = iter(self._partitions())
        return next(self._iterator, None)
