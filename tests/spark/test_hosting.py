"""Whose session it is, and what becomes of it."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from fsshelter_py import Bolt, Emit, Shuffle, Subscriptions, Topology, topology
from fsshelter_py.spark import host, spark_spout

LIMIT = 120


@dataclass(frozen=True, slots=True)
class Row:
    id: int


def counting(seen: list[int], frame: DataFrame | None = None) -> Topology:
    def consume(row: Row, emit: Emit[None]) -> None:
        seen.append(row.id)

    @topology("counting")
    def declared() -> Subscriptions:
        rows = spark_spout(lambda spark: spark.range(0, 10, 1, 2) if frame is None else frame, Row)
        bolt = Bolt.run(consume)
        yield rows >> bolt | Shuffle.on(Row)

    return declared()


def test_the_programs_session_is_used_and_not_touched(spark: SparkSession) -> None:
    """With and without naming it: it still runs, with the settings it had, and SIGINT is whose it was."""
    settings, handler = spark.conf.getAll, signal.getsignal(signal.SIGINT)
    for given in (spark, None):
        seen: list[int] = []
        with host(counting(seen), given) as hosted:
            assert hosted.wait(60).ok
        assert sorted(seen) == list(range(10))
    assert spark.conf.getAll == settings
    assert signal.getsignal(signal.SIGINT) is handler
    assert spark.range(3).count() == 3


def test_temporary_views_are_seen(spark: SparkSession) -> None:
    """A notebook's tables are there, though the spout's session has settings of its own."""
    spark.range(7).createOrReplaceTempView("numbers")

    @topology("numbers")
    def numbers() -> Subscriptions:
        rows = spark_spout(lambda session: session.table("numbers"), Row)
        bolt = Bolt.run(lambda row, emit: None)
        yield rows >> bolt | Shuffle.on(Row)

    with host(numbers(), spark) as hosted:
        assert hosted.wait(60).acked == 7


def test_a_topology_in_foreach_batch(spark: SparkSession, tmp_path: Path) -> None:
    """The micro-batch is the spout's DataFrame."""
    (tmp_path / "in").mkdir()
    spark.range(10).write.mode("append").json(str(tmp_path / "in"))
    seen: list[int] = []

    def process(frame: DataFrame, batch: int) -> None:
        with host(counting(seen, frame), frame.sparkSession, restart=False) as hosted:
            if not hosted.wait(60).ok:
                raise RuntimeError(f"micro-batch {batch} was not handled")

    stream = spark.readStream.schema("id long").json(str(tmp_path / "in"))
    query = stream.writeStream.foreachBatch(process).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination(60)
    assert sorted(seen) == list(range(10))


def ran(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program, run in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


PROGRAM = """
    import signal
    from dataclasses import dataclass
    from fsshelter_py import Bolt, Shuffle, topology
    from fsshelter_py.spark import host, spark_spout

    @dataclass(frozen=True)
    class Row:
        id: int

    @topology("alone")
    def alone():
        rows = spark_spout(lambda spark: spark.range(10), Row)
        bolt = Bolt.run(lambda row, emit: None)
        yield rows >> bolt | Shuffle.on(Row)

    handler = signal.getsignal(signal.SIGINT)
    with host(alone()) as hosted:
        print(hosted.wait().acked)
    assert signal.getsignal(signal.SIGINT) is handler
    from pyspark import SparkContext
    print(SparkContext._active_spark_context)
"""


@pytest.mark.usefixtures("spark")  # whoever has no Java is told by it
def test_a_session_of_our_own_is_quiet_and_stopped_at_the_end() -> None:
    """Where the program has none. Only Java itself says a line about its modules."""
    done = ran(PROGRAM)
    assert done.stdout.split() == ["10", "None"], done.stderr
    assert [line for line in done.stderr.splitlines() if "incubator" not in line] == []


def test_without_java_one_line_says_what_to_install(tmp_path: Path) -> None:
    """Instead of a shell script's trace."""
    done = ran(PROGRAM, PATH=str(tmp_path), JAVA_HOME="")
    assert "there is no java on the PATH: install it" in done.stderr.splitlines()[-1]
    done = ran(PROGRAM, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}, where there is no bin/java" in done.stderr.splitlines()[-1]
