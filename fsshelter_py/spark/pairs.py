"""Arrow batches as what a spout's ``next`` returns: pairs of a key and a tuple, some thousands at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.columns import TupleMaker
from fsshelter_py.spark.fitting import NullValueError
from fsshelter_py.spark.replay import Key

__all__ = ["Pair", "PairMaker", "Slice"]

Pair: TypeAlias = tuple[Key, Any]
Slice: TypeAlias = tuple[int, int, pa.RecordBatch]
"""Partition or micro-batch, offset of the first row in it, rows."""


class PairMaker:
    """Makes the pairs of one spout."""

    def __init__(
        self, maker: TupleMaker, batch_rows: int, tuple_id: Callable[[Any], Any] | None, source: str, place: str
    ) -> None:
        """source: what errors call the spout. place: what they call the first part of a key."""
        self._maker = maker
        self._batch_rows = batch_rows
        self._tuple_id = tuple_id
        self._source = source
        self._place = place

    def slices(self, place: int, batches: list[pa.RecordBatch]) -> Iterator[Slice]:
        """The rows in order, ``batch_rows`` at a time. Empties ``batches``: each is let go before the next."""
        begin = 0
        batches.reverse()
        while batches:
            batch = batches.pop()
            for offset in range(0, batch.num_rows, self._batch_rows):
                yield place, begin + offset, batch.slice(offset, self._batch_rows)
            begin += batch.num_rows

    def pairs(self, slice: Slice) -> Iterator[Pair]:
        """The pairs of some rows. Raises ``SourceError`` for a null that its field does not take."""
        place, begin, batch = slice
        try:
            tuples: Iterable[Any] = self._maker.tuples(batch)
        except NullValueError as error:
            where = f"row {begin + error.row}" if error.row is not None else f"a row from {begin} on"
            raise SourceError(f"{self._source}: {self._place} {place}, {where}: {error}") from error
        keys: Iterator[Key] = zip(itertools.repeat(place), range(begin, begin + batch.num_rows), strict=False)
        if self._tuple_id is not None:
            tuples = list(tuples)
            keys = ((*key, id) for key, id in zip(keys, map(self._tuple_id, tuples), strict=True))
        return zip(keys, tuples, strict=True)
