"""Fields to columns."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from fsshelter_py.errors import EmitError
from fsshelter_py.spark.schema import TableMaker


@dataclass
class Point:
    x: int
    y: float | None


@dataclass
class Everything:
    flag: bool
    price: Decimal
    raw: bytes
    day: datetime.date
    moment: datetime.datetime
    lasted: datetime.timedelta
    tags: frozenset[str]
    points: list[Point]
    counts: Mapping[str, tuple[int, ...]]
    note: str | None


def test_the_schema_comes_from_the_annotations() -> None:
    """Also where no row has a value from which it could be guessed."""
    schema = TableMaker(Everything).schema
    assert schema.field("price").type == pa.decimal128(38, 18)
    assert schema.field("moment").type == pa.timestamp("us", tz="UTC")
    assert schema.field("points").type == pa.list_(pa.struct([("x", pa.int64()), ("y", pa.float64())]))
    assert schema.field("counts").type == pa.map_(pa.string(), pa.list_(pa.int64()))
    assert schema.field("note").type == pa.string()


def test_a_row_a_tuple() -> None:
    """Nested classes, collections and None."""
    moment = datetime.datetime(2013, 1, 1, tzinfo=datetime.UTC)
    one = Everything(
        True,
        Decimal("1.5"),
        b"r",
        datetime.date(2013, 1, 1),
        moment,
        datetime.timedelta(seconds=1),
        frozenset("a"),
        [Point(1, None)],
        {"k": (1, 2)},
        None,
    )
    (row,) = TableMaker(Everything).table([one]).to_pylist()
    assert row["moment"] == moment
    assert row["points"] == [{"x": 1, "y": None}]
    assert row["counts"] == [("k", [1, 2])]
    assert (row["tags"], row["note"], row["price"]) == (["a"], None, Decimal("1.5"))


def test_every_field_that_no_column_can_hold_is_named_at_once() -> None:
    """One error, with the reason for each."""

    @dataclass
    class Wrong:
        anything: Any
        either: int | str
        items: list  # type: ignore[type-arg]
        other: complex
        fine: int

    with pytest.raises(EmitError) as caught:
        TableMaker(Wrong)
    text = str(caught.value)
    for name in ("anything", "either", "items", "other"):
        assert f"Wrong.{name} is" in text
    assert "fine" not in text


def test_a_value_that_is_not_what_its_annotation_says_is_named() -> None:
    """The batch fails with the field."""
    point: Any = Point("one", None)  # type: ignore[arg-type]
    with pytest.raises(EmitError, match="'x' of Point"):
        TableMaker(Point).table([point])


def test_what_is_no_tuple_class_is_refused() -> None:
    """There would be no columns."""
    with pytest.raises(EmitError, match="spark_sink got a str"):
        TableMaker(str)
