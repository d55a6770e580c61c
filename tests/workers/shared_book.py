"""A list in a file, which every process may append to."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

__all__ = ["SharedBook"]

T = TypeVar("T")


class SharedBook(Generic[T]):
    """Travels by its path. An entry is one write to the end of the file, so that none is torn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def append(self, entry: T, /) -> None:
        os.write(self._file, pickle.dumps(entry))

    def __iter__(self) -> Iterator[T]:
        with self._path.open("rb") as file:
            while True:
                try:
                    yield pickle.load(file)
                except EOFError:
                    return

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._path,)

    def __del__(self) -> None:
        os.close(self._file)
