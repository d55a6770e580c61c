"""Tuples out through Spark."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fsshelter_py import Bolt, Emit, Shuffle, Subscriptions, Topology, topology
from fsshelter_py.spark import host, spark_sink, spark_spout


@dataclass(frozen=True, slots=True)
class Row:
    id: int


@dataclass(frozen=True, slots=True)
class Square:
    id: int
    square: float | None


@dataclass(frozen=True, slots=True)
class Odd:
    id: int


def squares(write: Callable[[DataFrame], object], count: int, *, max_rows: int, **conf: Any) -> Topology:
    def square(row: Row, emit: Emit[Square | Odd]) -> None:
        emit(Square(row.id, row.id**2 if row.id else None))
        if row.id % 2:
            emit(Odd(row.id))

    @topology("squares")
    def declared() -> Subscriptions:
        rows = spark_spout(lambda spark: spark.range(0, count, 1, 2), Row)
        bolt = Bolt.run(square)
        sink = spark_sink(write, max_rows=max_rows, max_wait=0.2)
        yield rows >> bolt | Shuffle.on(Row)
        yield bolt >> sink | Shuffle.on(Square)
        yield bolt >> sink | Shuffle.on(Odd)

    return declared().with_conf(conf)


def test_tuples_are_written_in_batches_a_dataframe_a_class(spark: SparkSession, tmp_path: Path) -> None:
    """Of the columns of the class, in one file a batch."""

    def write(frame: DataFrame) -> None:
        assert frame.rdd.getNumPartitions() == 1
        frame.write.mode("append").parquet(str(tmp_path / ("odd" if len(frame.columns) == 1 else "square")))

    with host(squares(write, 100, max_rows=60, max_spout_pending=100), spark) as hosted:
        assert hosted.wait(60).ok
    written = spark.read.parquet(str(tmp_path / "square"))
    assert sorted(map(tuple, written.collect())) == [(n, float(n) ** 2 if n else None) for n in range(100)]
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "odd")).collect()) == list(range(1, 100, 2))


def test_tuples_are_acked_when_the_write_has_returned(spark: SparkSession) -> None:
    """And not before: a batch whose write failed comes again, as a whole."""
    written: list[int] = []
    failures = [ValueError("the disk is full")]

    def write(frame: DataFrame) -> None:
        if len(frame.columns) == 1:
            return
        if failures:
            raise failures.pop()
        written.extend(row.id for row in frame.collect())

    with host(squares(write, 40, max_rows=20, max_spout_pending=40), spark) as hosted:
        summary = hosted.wait(60)
    assert summary.ok
    assert summary.failed > 0
    assert set(written) == set(range(40))


def test_a_batch_larger_than_what_may_be_in_flight_is_warned_of(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would wait for rows that cannot come; it is written when its time is up."""
    count: list[int] = []
    with host(
        squares(lambda frame: count.append(frame.count()), 20, max_rows=1000, max_spout_pending=4), spark
    ) as hosted:
        assert hosted.wait(60).ok
    assert sum(count) == 30
    assert "small_batches" in capsys.readouterr().err


def test_write_must_be_a_function() -> None:
    """A path alone does not say how."""
    path: Any = "/data/out"
    with pytest.raises(TypeError, match="write is '/data/out'"):
        spark_sink(path, max_rows=10, max_wait=1)
