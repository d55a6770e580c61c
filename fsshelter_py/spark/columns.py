"""Columns to fields: how the Arrow batches of a DataFrame become tuples of a class, checked before the first row.

Dates and timestamps go by the column: one by one pyarrow takes 2 and 8 microseconds for each, which is more than all
the rest of a row.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.sql import types as sql

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.fitting import NullValueError, Part, StructMaker

__all__ = ["TupleMaker"]


class TupleMaker:
    """Makes tuples of a class from Arrow batches.

    columns: what it reads of the DataFrame; a column that no field asks for is not read at all.
    """

    def __init__(self, schema: sql.StructType, into: type[Any], zone: str, source: str) -> None:
        """zone: the session's time zone. Raises ``SourceError`` with every column that does not fit; names ``source``.

        schema: of the DataFrame.
        """
        maker = StructMaker(schema, into, ZoneInfo(zone), "", set())
        if maker.problems:
            lines = "".join(f"\n  - {problem}" for problem in maker.problems)
            raise SourceError(f"{source}: the rows do not fit {into.__name__}:{lines}")
        self.columns = maker.names
        self._make = maker
        self._zone = ZoneInfo(zone)

    def tuples(self, batch: pa.RecordBatch) -> Iterable[Any]:
        """The batch's rows. Raises ``NullValueError``, here or while it is iterated."""
        values = [
            self._column(batch.column(name), part) for name, part in zip(self.columns, self._make.parts, strict=True)
        ]
        return self._make.build(values, batch.num_rows)

    def _column(self, column: pa.Array, part: Part) -> list[Any]:
        nulls = column.null_count
        if nulls and not part.optional:
            row = column.is_null().index(pa.scalar(True)).as_py()
            raise NullValueError(part.path, part.field, row)
        values = self._values(column)
        convert = part.convert
        if convert is None:
            return values
        return [None if v is None else convert(v) for v in values] if nulls else list(map(convert, values))

    def _values(self, column: pa.Array) -> list[Any]:
        of = column.type
        values: list[Any]
        if pa.types.is_date32(of):
            values = column.to_numpy(zero_copy_only=False).tolist()
            return values
        if pa.types.is_timestamp(of) and of.unit == "us":
            values = column.to_numpy(zero_copy_only=False).tolist()
            if of.tz is None:
                return values
            utc, zone = datetime.UTC, self._zone
            return [None if v is None else v.replace(tzinfo=utc).astimezone(zone) for v in values]
        values = column.to_pylist()
        return values
