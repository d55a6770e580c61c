"""The positions of one task's partitions, and when they are saved.

Thread contract: called by the task's executor, but for ``left``, to which the reading thread adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fsshelter_py.clock import Clock, MonotonicClock
from fsshelter_py.errors import SourceError
from fsshelter_py.spark.checkpoint import Checkpoint
from fsshelter_py.spark.pairs import Pair, Slice
from fsshelter_py.spark.position import Position
from fsshelter_py.spark.replay import Key

__all__ = ["Progress"]

_SAVE_EVERY_SECS: Final = 1.0
"""A run that dies has the rows settled since then emitted again; a save costs some milliseconds."""


class Progress:
    """The positions of one task's partitions, saved every second while rows are settled.

    Invariant: a partition is in ``_open`` from its begin until it is saved as done; ``_changed`` is a part of it.
    """

    def __init__(
        self, checkpoint: Checkpoint, left: dict[int, Position], source: str, clock: Clock | None = None
    ) -> None:
        """left: where an earlier run left partitions; the reading adds each before it is begun."""
        self._checkpoint = checkpoint
        self._open = left
        self._source = source
        self._changed: set[int] = set()
        self._clock = clock if clock is not None else MonotonicClock()
        self._saved = self._clock.now()

    def begin(self, partition: int, rows: int) -> None:
        """A partition was read. Raises ``SourceError`` if it had another number of rows before."""
        position = self._open.setdefault(partition, Position())
        if position.rows not in (None, rows):
            raise SourceError(
                f"{self._source}: partition {partition} has {rows} rows now and had {position.rows}, so its positions "
                f"are of other rows: give another checkpoint than {self._checkpoint.path} to read all of it"
            )
        position.rows = rows
        self._touch(partition)

    def unsettled(self, slice: Slice, pairs: Iterator[Pair]) -> Iterator[Pair]:
        """The pairs that no earlier run has settled."""
        partition, begin, batch = slice
        gaps = self._open[partition].gaps(begin, begin + batch.num_rows)
        if gaps == [(begin, begin + batch.num_rows)]:
            return pairs
        found = list(pairs) if gaps else []
        return (pair for first, end in gaps for pair in found[first - begin : end - begin])

    def settle(self, key: Key) -> None:
        """A row, or the dead letter of one, was acked."""
        partition = key[0]
        self._open[partition].settle(key[1])
        self._touch(partition)

    def save(self) -> None:
        """Save what has changed."""
        self._checkpoint.save((partition, self._open[partition]) for partition in self._changed)
        for partition in self._changed:
            if self._open[partition].is_done:
                del self._open[partition]
        self._changed.clear()
        self._saved = self._clock.now()

    def _touch(self, partition: int) -> None:
        self._changed.add(partition)
        if self._clock.now() - self._saved >= _SAVE_EVERY_SECS:
            self.save()
