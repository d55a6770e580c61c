"""What user code writes to stdout and stderr: whole lines, and above the live view where one is shown.

Contract: any thread writes, and drains when much is held; the main one installs, holds, drains and releases.

``print`` writes a line and its end one after the other, so the lines of two threads would run together. Here a thread's
line is written when it is whole. While a view is on the terminal, lines are held until it draws itself again, and then
written above it: a topology that prints a line for every tuple would otherwise have it drawn a thousand times a second.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

__all__ = ["Prints"]

_LIMIT = 65_536
"""Characters held, of a line or of many, at most."""


class Prints:
    """Stands between user code and stdout and stderr."""

    def __init__(self) -> None:
        self.broken = False
        """Whether nobody reads stdout or stderr any more, as after ``| head``; what is written goes nowhere then."""
        self.lost: OSError | None = None
        """Why something could not be written, as to a disk that is full; from then on nothing is."""
        self.on_broken: Callable[[], object] = lambda: None
        # Reentrant: a write may be interrupted by a finalizer that writes.
        self._lock = threading.RLock()
        self._begun: dict[tuple[_Stream, int], str] = {}  # by stream and thread, the line it has not ended yet
        self._held: list[str] = []
        self._size = 0  # == sum(map(len, self._held))
        self._above: Callable[[str], object] | None = None

    @contextmanager
    def installed(self) -> Iterator[Prints]:
        """In place of ``sys.stdout`` and ``sys.stderr``.

        From before the topology file is loaded, since a logging handler keeps the stream that it finds then.
        """
        before = sys.stdout, sys.stderr
        stand_ins = [cast(TextIO, _Stream(self, stream)) for stream in before]
        sys.stdout, sys.stderr = stand_ins
        try:
            yield self
        finally:
            self.release()
            for stand_in in stand_ins:
                stand_in.flush()
            if sys.stdout is stand_ins[0]:
                sys.stdout = before[0]
            if sys.stderr is stand_ins[1]:
                sys.stderr = before[1]

    def hold(self, above: Callable[[str], object]) -> None:
        """From now on hold what goes to the terminal, for ``above`` to write."""
        with self._lock:
            self._above = above

    def drain(self) -> None:
        """Write the lines that are held."""
        with self._lock:
            text = "".join(self._held)
            self._held.clear()
            self._size = 0
            if text and self._above is not None:
                # The view begins on a line of its own, also below a line that is longer than what is held.
                self._above(text if text.endswith("\n") else text + "\n")

    def release(self) -> None:
        """Write what is held, and lines that were not ended, and hold no more."""
        with self._lock:
            for (stream, _), text in self._begun.items():
                self._emit(stream, text)
            self._begun.clear()
            self.drain()
            self._above = None

    def write(self, stream: _Stream, text: str) -> None:
        """Write the lines that this text ends; keep the rest as this thread's begun line."""
        key = stream, threading.get_ident()
        with self._lock:
            begun = self._begun.pop(key, "") + text
            # As a terminal does: a carriage return shows what was written so far.
            as_it_is = len(begun) > _LIMIT or "\r" in text
            whole, end, rest = (begun, "", "") if as_it_is else begun.rpartition("\n")
            if rest:
                self._begun[key] = rest
            if whole or end:
                self._emit(stream, whole + end)

    def flush(self, stream: _Stream) -> None:
        """Write this thread's begun line, but not above a view, which takes whole ones only."""
        with self._lock:
            if self._above is not None and stream.is_terminal:
                return
            begun = self._begun.pop((stream, threading.get_ident()), "")
            self._put(stream, begun, flush=True)

    def _emit(self, stream: _Stream, text: str) -> None:
        if self._above is None or not stream.is_terminal:
            self._put(stream, text)
            return
        self._held.append(text)
        self._size += len(text)
        if self._size > _LIMIT:
            self.drain()

    def _put(self, stream: _Stream, text: str, *, flush: bool = False) -> None:
        try:
            stream.original.write(text)
            if flush:
                stream.original.flush()
        except OSError as error:
            # Not an error of the tuple whose bolt prints: what is lost was printed by others too, before it. With a
            # broken pipe the user has seen enough.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.original.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                self.broken = True
            else:
                self.lost = self.lost or error
            self.on_broken()


class _Stream:
    """A text stream whose writes go through ``Prints``; everything else is the stream's own."""

    def __init__(self, prints: Prints, original: TextIO) -> None:
        self._prints = prints
        self.original = original
        self.is_terminal = original.isatty()

    def write(self, text: str) -> int:
        self._prints.write(self, text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._prints.flush(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)
