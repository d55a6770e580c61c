"""What is written to stdout and stderr while the live view is on the terminal.

Contract: any thread writes, ``drain`` is called by any thread, ``hold`` and ``release`` by the main one. All that is
written comes out whole and in its order: it is held until the view draws itself again, then written above it. A
topology that prints a line for every tuple would otherwise have the view drawn once a line, a thousand lines a second.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

__all__ = ["Prints"]

_LIMIT = 65_536


class Prints:
    """Stands between user code and the terminal; passes everything through unless it is told to hold."""

    def __init__(self) -> None:
        # Reentrant: a write may be interrupted by a finalizer that writes.
        self._lock = threading.RLock()
        self._held: list[str] = []
        self._size = 0
        self._out: Callable[[str], None] | None = None

    @contextmanager
    def installed(self) -> Iterator[Prints]:
        """In place of ``sys.stderr`` and ``sys.stdout``, those of them that are a terminal.

        From before the topology file is loaded, since a logging handler keeps the stream that it finds then.
        """
        before = sys.stdout, sys.stderr
        stand_ins = [cast(TextIO, _Stream(self, stream)) if stream.isatty() else stream for stream in before]
        sys.stdout, sys.stderr = stand_ins
        try:
            yield self
        finally:
            self.release()
            if sys.stdout is stand_ins[0]:
                sys.stdout = before[0]
            if sys.stderr is stand_ins[1]:
                sys.stderr = before[1]

    def hold(self, out: Callable[[str], None]) -> None:
        """From now on hold what is written, for ``out`` to write."""
        with self._lock:
            self._out = out

    def release(self) -> None:
        """Write what is held, the end of an unfinished line too, and pass everything through again."""
        with self._lock:
            text, out = "".join(self._held), self._out
            self._held.clear()
            self._size = 0
            self._out = None
            if text and out is not None:
                out(text if text.endswith("\n") else text + "\n")

    def write(self, text: str, stream: TextIO) -> None:
        """Write or hold."""
        with self._lock:
            if self._out is None:
                stream.write(text)
                return
            self._held.append(text)
            self._size += len(text)
            if self._size >= _LIMIT:
                self.drain()

    def drain(self) -> None:
        """Write the whole lines that are held."""
        with self._lock:
            lines, newline, rest = "".join(self._held).rpartition("\n")
            self._held = [rest] if rest else []
            self._size = len(rest)
            if newline and self._out is not None:
                self._out(lines + newline)


class _Stream:
    """A terminal's text stream whose text goes through ``Prints``; everything else is the stream's own."""

    def __init__(self, prints: Prints, stream: TextIO) -> None:
        self._prints = prints
        self._stream = stream

    def write(self, text: str) -> int:
        self._prints.write(text, self._stream)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
