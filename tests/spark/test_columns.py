"""Columns to fields."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, NewType
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import types as sql
from pyspark.sql.pandas.types import to_arrow_schema

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.columns import TupleMaker
from fsshelter_py.spark.fitting import NullValueError

pytestmark = pytest.mark.usefixtures("spark")  # which reads schemas written as text

ZONE = "Asia/Tokyo"
RowId = NewType("RowId", int)


def struct(ddl: str) -> sql.StructType:
    schema = sql.StructType.fromDDL(ddl)
    assert isinstance(schema, sql.StructType)
    return schema


def tuples(ddl: str, into: type[Any], *rows: Any) -> list[Any]:
    """Rows of a schema, each a tuple of its values, as the class makes them."""
    schema = struct(ddl)
    arrow = to_arrow_schema(schema, timezone=ZONE)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(arrow)
    arrays = [pa.array(list(values), of.type) for values, of in zip(columns, arrow, strict=True)]
    maker = TupleMaker(schema, into, ZONE, "the spout")
    return list(maker.tuples(pa.RecordBatch.from_arrays(arrays, schema=arrow)))


@dataclass(frozen=True)
class Point:
    x: int
    y: float | None = None


class Pair(NamedTuple):
    key: str
    points: list[Point]


class Measured(msgspec.Struct, kw_only=True):
    value: float
    of: RowId = RowId(0)


@dataclass
class Times:
    day: datetime.date | None
    moment: datetime.datetime | None
    local: datetime.datetime
    lasted: datetime.timedelta


@dataclass
class Many:
    flag: bool
    price: Decimal
    raw: bytes
    tags: frozenset[str]
    sizes: tuple[int, ...]
    counts: Mapping[str, Sequence[int]]
    anything: Any
    note: str | None = field(default="none", kw_only=True)


def test_columns_go_to_fields_by_name() -> None:
    """Neither order nor further columns matter; a field with a default may do without a column."""
    assert tuples("z string, x int", Point, ("z", 1)) == [Point(1)]


def test_nested_structs_become_nested_classes() -> None:
    """At any depth, and in arrays."""
    made = tuples("key string, points array<struct<x:bigint,y:double>>", Pair, ("a", [{"x": 1, "y": 2.0}]))
    assert made == [Pair("a", [Point(1, 2.0)])]


def test_keyword_only_classes_and_new_types_fit() -> None:
    """A class is called in the way that it takes."""
    assert tuples("of bigint, value double", Measured, (7, 1.5)) == [Measured(value=1.5, of=RowId(7))]


def test_integers_fit_a_float() -> None:
    """As in Python's own arithmetic."""
    assert tuples("value int", Measured, (3,)) == [Measured(value=3.0)]
    assert isinstance(tuples("value int", Measured, (3,))[0].value, float)


def test_dates_and_times_keep_their_zone() -> None:
    """A timestamp is aware, in the session's zone; one without a zone is naive."""
    moment = datetime.datetime(2013, 1, 1, 12, 0, 0, 5, tzinfo=datetime.UTC)
    local = datetime.datetime(2013, 1, 1, 3)
    (made,) = tuples(
        "day date, moment timestamp, local timestamp_ntz, lasted interval day to second",
        Times,
        (datetime.date(2013, 1, 1), moment, local, datetime.timedelta(hours=1)),
    )
    assert made == Times(datetime.date(2013, 1, 1), moment, local, datetime.timedelta(hours=1))
    assert made.moment.tzinfo == ZoneInfo(ZONE)
    assert made.local.tzinfo is None


def test_nulls_are_none_where_the_annotation_allows_it() -> None:
    """Dates and timestamps too, which go another way than the rest."""
    (made,) = tuples(
        "day date, moment timestamp, local timestamp_ntz, lasted interval day to second",
        Times,
        (None, None, datetime.datetime(2013, 1, 1), datetime.timedelta(0)),
    )
    assert (made.day, made.moment) == (None, None)
    assert tuples("x int, y double", Point, (1, None)) == [Point(1, None)]


def test_collections_become_what_the_annotation_says() -> None:
    """Sets, tuples and mappings, and plain values where it says nothing."""
    (made,) = tuples(
        "flag boolean, price decimal(10,2), raw binary, tags array<string>, sizes array<int>,"
        " counts map<string,array<int>>, anything struct<a:map<string,int>>, note string",
        Many,
        (True, Decimal("1.50"), b"r", ["a", "b", "a"], [1, 2], [("k", [1])], {"a": [("b", 2)]}, None),
    )
    assert made == Many(True, Decimal("1.50"), b"r", frozenset("ab"), (1, 2), {"k": [1]}, {"a": {"b": 2}}, note=None)


def test_a_null_without_a_none_names_its_row() -> None:
    """The schema cannot tell: nearly every column may hold nulls."""
    with pytest.raises(NullValueError, match=r"column 'x' holds a null and Point.x does not take None") as caught:
        tuples("x int", Point, (1,), (None,))
    assert caught.value.row == 1
    with pytest.raises(NullValueError, match=r"column 'points\[\].x'"):
        tuples("key string, points array<struct<x:bigint>>", Pair, ("a", [{"x": None}]))


def test_every_column_that_does_not_fit_is_named_at_once() -> None:
    """One error, before the first row, with what to do about each."""

    @dataclass
    class Wrong:
        idx: int
        name: int
        price: float
        points: list[Point]
        span: str

    ddl = "id int, name string, price decimal(5,1), points array<struct<x:string>>, span interval year to month"
    with pytest.raises(SourceError) as caught:
        TupleMaker(struct(ddl), Wrong, ZONE, "the spout")
    text = str(caught.value)
    assert "the spout: the rows do not fit Wrong:" in text
    assert "there is no column 'idx' for Wrong.idx: did you mean 'id'?" in text
    assert "column 'name' is string and Wrong.name is int: annotate it str, or cast the column" in text
    assert "column 'price' is decimal(5,1) and Wrong.price is float: annotate it Decimal, or cast the column" in text
    assert "column 'points[].x' is string and Point.x is int" in text
    assert "column 'span' is interval year to month and Wrong.span is str, which has no Python value" in text


def test_a_date_is_no_datetime() -> None:
    """One is a subclass of the other in Python, and not the same thing."""

    @dataclass
    class Day:
        day: datetime.datetime

    with pytest.raises(SourceError, match=r"column 'day' is date and Day\.day is datetime"):
        tuples("day date", Day)
