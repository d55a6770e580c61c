"""The lines of a text file."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar, cast, overload

from fsshelter_py.errors import SourceError

__all__ = ["lines"]

T = TypeVar("T")

BLOCK: Final = 1 << 15
"""Bytes read at a time: small enough for a block and its lines to stay in the processor's cache, which 128 KiB took
1.4 times as long without. From a pipe fewer are taken, so that a line is given out as soon as it is there."""


@overload
def lines(path: str | os.PathLike[str], into: None = None, *, encoding: str = "utf-8") -> Iterator[str]: ...
@overload
def lines(path: str | os.PathLike[str], into: Callable[[str], T], *, encoding: str = "utf-8") -> Iterator[T]: ...
def lines(path: str | os.PathLike[str], into: Callable[[str], Any] | None = None, *, encoding: str = "utf-8") -> Any:
    r"""The lines of a text file, without their ends, each given to ``into`` where there is one.

    A line ends with ``\n``, ``\r\n`` or ``\r``, and with nothing else. The path ``-`` is the standard input.
    The file is opened by the call and closed at its end, or with the iterator. Raises ``SourceError``: the call for a
    file that cannot be opened, the iterator for a byte that is not of the encoding, after the lines before it.
    """
    reader = _reader(os.fspath(path), into, encoding)
    # The generator stops once when the file is open: errors are raised here, and closing it closes the file.
    next(reader)
    return reader


def _reader(path: str, into: Callable[[str], Any] | None, encoding: str) -> Iterator[Any]:
    decoder = _decoder(path, encoding)
    file = cast("io.BufferedReader", sys.stdin.buffer) if path == "-" else _open(path)
    try:
        yield None
        for complete in _split(_decoded(file, path, decoder, encoding)):
            yield from complete if into is None else map(into, complete)
    finally:
        if path != "-":
            file.close()


def _split(texts: Iterator[str]) -> Iterator[list[str]]:
    r"""The lines completed by each text. ``str.splitlines`` would also split on form feeds and others besides."""
    begun: list[str] = []
    for text in texts:
        first, *rest = text.split("\n")
        begun.append(first)
        if rest:
            complete = ["".join(begun), *rest]
            begun = [complete.pop()]
            yield complete
    last = "".join(begun)
    if last:
        yield [last]


def _decoded(file: io.BufferedReader, path: str, decoder: io.IncrementalNewlineDecoder, encoding: str) -> Iterator[str]:
    r"""The text of each block, line ends made ``\n``."""
    position = 0
    while True:
        block = _read(file, path)
        before = decoder.getstate()
        try:
            yield decoder.decode(block, final=not block)
        except UnicodeError as error:
            # What the decoder looked at ends with the block, and may begin with bytes it kept of the one before.
            seen, start = (error.object, error.start) if isinstance(error, UnicodeDecodeError) else (block, 0)
            good = len(block) - len(seen) + start
            # The lines before the bad byte are whole: whether they are given must not depend on the blocks.
            if good > 0:
                decoder.setstate(before)
                yield decoder.decode(block[:good], final=True)
            elif before[1] & 1:
                yield "\n"  # the decoder kept a \r back, to see whether a \n follows it
            raise _undecodable(path, encoding, seen[start : start + 1], position + good, error) from error
        if not block:
            return
        position += len(block)


def _decoder(path: str, encoding: str) -> io.IncrementalNewlineDecoder:
    try:
        "".encode(encoding)
        return io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    except LookupError as error:
        raise SourceError(f"{path}: there is no text encoding {encoding!r}: give one that Python knows") from error


def _open(path: str) -> io.BufferedReader:
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        raise SourceError(
            f"{path}: there is no such file in {os.getcwd()}: check the path, or make it absolute"
            if not os.path.isabs(path)
            else f"{path}: there is no such file: check the path"
        ) from error
    except IsADirectoryError as error:
        raise SourceError(f"{path}: this is a directory: give a file in it") from error
    except PermissionError as error:
        raise SourceError(f"{path}: this process may not read it: change the file's permissions or the user") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: cannot be opened: {error}") from error


def _read(file: io.BufferedReader, path: str) -> bytes:
    try:
        return file.read1(BLOCK)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read further: {error}") from error


def _undecodable(path: str, encoding: str, byte: bytes, offset: int, error: UnicodeError) -> SourceError:
    reason = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
    other = "utf-16" if offset == 0 and byte in (b"\xff", b"\xfe") else "cp1252"
    if codecs.lookup(encoding).name == codecs.lookup(other).name:
        other = "latin-1"
    return SourceError(
        f"{path}: the byte 0x{byte.hex()} at offset {offset} is not {encoding} ({reason}): "
        f"give the encoding of the file, as in encoding={other!r}"
    )
