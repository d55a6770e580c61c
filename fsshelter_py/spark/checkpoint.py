"""Positions kept in a file, durably: an SQLite database, written in transactions that are on the disk when they return.

Thread contract: any thread may call; a lock of its own makes the calls follow one another.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.position import Position

__all__ = ["Checkpoint"]

_FORMAT = "1"
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS position (
    partition INTEGER PRIMARY KEY,
    settled INTEGER NOT NULL,
    beyond TEXT NOT NULL,
    rows INTEGER
);
"""


class Checkpoint:
    """The positions of a DataFrame's partitions, and what they are the positions of.

    One run at a time has it: the file stays locked until ``close``, or until the process ends in whatever way.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open it, or make it with its directory. Raises ``SourceError``."""
        self.path = os.fspath(path)
        self._lock = threading.Lock()
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise SourceError(f"checkpoint {self.path}: cannot be opened: {error}") from error
        try:
            self._open()
        except sqlite3.Error as error:
            self._database.close()
            if "locked" in str(error):
                problem = "another run is using it: wait for that one, or give this one a checkpoint of its own"
            else:
                problem = f"it is no checkpoint, or it is damaged ({error}): give the path of another file"
            raise SourceError(f"checkpoint {self.path}: {problem}") from error

    def _open(self) -> None:
        run = self._database.execute
        # EXTRA also has the journal's removal on the disk: without it a commit can be undone by a power cut.
        run("PRAGMA synchronous=EXTRA")
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("BEGIN EXCLUSIVE")
        for statement in _TABLES.split(";"):
            run(statement)
        run("INSERT OR IGNORE INTO about VALUES ('format', ?)", (_FORMAT,))
        run("COMMIT")

    def about(self) -> dict[str, str]:
        """What the positions are of; empty for a new checkpoint."""
        with self._lock:
            return dict(self._database.execute("SELECT name, value FROM about WHERE name != 'format'"))

    def begin(self, about: Mapping[str, str]) -> None:
        """A first run: keep what the positions are of."""
        with self._lock:
            self._database.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())

    def positions(self) -> dict[int, Position]:
        """The position of each partition that has one."""
        with self._lock:
            rows = self._database.execute("SELECT partition, settled, beyond, rows FROM position").fetchall()
        return {partition: Position(settled, json.loads(beyond), count) for partition, settled, beyond, count in rows}

    def save(self, positions: Iterable[tuple[int, Position]]) -> None:
        """Keep the positions; on the disk when it returns. Raises ``SourceError``."""
        rows: list[Any] = [(p, at.settled, json.dumps(at.beyond), at.rows) for p, at in positions]
        if not rows:
            return
        try:
            with self._lock:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("INSERT OR REPLACE INTO position VALUES (?, ?, ?, ?)", rows)
                self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise SourceError(f"checkpoint {self.path}: cannot be written: {error}") from error

    def close(self) -> None:
        """Unlock and close it."""
        with self._lock:
            self._database.close()
