"""A run that goes on where an earlier one ended."""

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from fsshelter_py import Bolt, DeadLetter, Emit, Shuffle, Spout, Subscriptions, Topology, topology
from fsshelter_py.errors import TopologyFailedError
from fsshelter_py.spark import host, spark_spout
from fsshelter_py.spark.checkpoint import Checkpoint

PROGRAM = Path(__file__).with_name("resuming.py")
WIDTH = 1000


@dataclass(frozen=True, slots=True)
class Row:
    id: int


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A thousand rows in ten files."""
    path = str(tmp_path_factory.mktemp("files") / "rows")
    spark.range(0, WIDTH, 1, 10).write.parquet(path)
    return path


def reading(source: Spout, handle: Callable[[Row], None], **conf: Any) -> Topology:
    def consume(row: Row, emit: Emit[None]) -> None:
        handle(row)

    @topology("reading")
    def declared() -> Subscriptions:
        spout = source
        bolt = Bolt.run(consume)
        yield spout >> bolt | Shuffle.on(Row)

    return declared().with_conf(max_restarts=0, **conf)


def run_to_end(spark: SparkSession, source: Spout) -> list[int]:
    """The ids that a run emits."""
    seen: list[int] = []
    with host(reading(source, lambda row: seen.append(row.id)), spark) as hosted:
        hosted.wait(60)
    return seen


def refusal(spark: SparkSession, source: Spout) -> str:
    with pytest.raises(TopologyFailedError) as caught:
        run_to_end(spark, source)
    return str(caught.value)


def stopped_after(spark: SparkSession, source: Spout, count: int) -> list[int]:
    """The ids of a run that is stopped, from the middle of a partition."""
    seen: list[int] = []
    enough = threading.Event()

    def handle(row: Row) -> None:
        if len(seen) < count:
            seen.append(row.id)
        else:
            enough.set()
            raise ValueError("no more in this run")

    with host(reading(source, handle), spark) as hosted:
        assert enough.wait(60)
        hosted.stop(0)
    return seen


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_stopped_run_goes_on_with_the_rows_that_are_left(
    spark: SparkSession, files: str, tmp_path: Path, tasks: int
) -> None:
    """Each row is handled once over both runs: what was acked was saved by the stop."""

    def source() -> Spout:
        read = spark_spout(lambda session: session.read.parquet(files), Row, checkpoint=tmp_path / "positions")
        return read.with_parallelism(tasks)

    first = stopped_after(spark, source(), 333)
    second = run_to_end(spark, source())
    assert sorted(first + second) == list(range(WIDTH))


def test_a_finished_run_says_so_at_once(
    spark: SparkSession, files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It emits nothing and ends."""

    def source() -> Spout:
        return spark_spout(lambda session: session.read.parquet(files), Row, checkpoint=tmp_path / "positions")

    assert len(run_to_end(spark, source())) == WIDTH
    assert "already_finished" not in capsys.readouterr().err
    assert run_to_end(spark, source()) == []
    assert "already_finished" in capsys.readouterr().err


def test_a_dead_letter_settles_its_row(spark: SparkSession, files: str, tmp_path: Path) -> None:
    """A row given up is not emitted again by the next run; one whose letter was lost is."""

    def consume(one: Row | DeadLetter, emit: Emit[None]) -> None:
        if isinstance(one, DeadLetter) and one.tuple.id == 5:
            return
        row = one.tuple if isinstance(one, DeadLetter) else one
        if row.id in (5, 6):
            raise ValueError("never handled")

    @topology("dying")
    def dying() -> Subscriptions:
        spout = spark_spout(
            lambda session: session.read.parquet(files), Row, checkpoint=tmp_path / "positions", max_attempts=2
        )
        bolt = Bolt.run(consume)
        yield spout >> bolt | Shuffle.on(Row)
        yield spout >> bolt | Shuffle.on(DeadLetter)

    with host(dying(), spark) as hosted:
        assert not hosted.wait(60).ok
    read = spark_spout(lambda session: session.read.parquet(files), Row, checkpoint=tmp_path / "positions")
    assert run_to_end(spark, read) == [6]


REFUSED: list[tuple[str, Callable[[DataFrame], DataFrame], str]] = [
    ("rand", lambda frame: frame.where(sql.rand() < 2), "a non-deterministic expression"),
    ("clock", lambda frame: frame.where(sql.current_timestamp() > sql.lit("2000-01-01")), "current_timestamp()"),
    ("sort", lambda frame: frame.orderBy("id"), "a shuffle in the plan (Exchange)"),
    ("repartition", lambda frame: frame.repartition(3), "a shuffle in the plan (Exchange)"),
    ("group", lambda frame: frame.groupBy("id").count(), "a shuffle in the plan (Exchange)"),
    ("limit", lambda frame: frame.limit(10), "a shuffle in the plan (CollectLimit)"),
    ("rdd", lambda frame: frame.sparkSession.createDataFrame(frame.rdd, frame.schema), "it reads LogicalRDD"),
]


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_plan_that_cannot_be_resumed_is_refused_with_the_reason(
    spark: SparkSession, files: str, tmp_path: Path, change: Callable[[DataFrame], DataFrame], reason: str
) -> None:
    """And with the way out; who vouches for it is believed."""

    def read(session: SparkSession) -> DataFrame:
        return change(session.read.parquet(files))

    text = refusal(spark, spark_spout(read, Row, checkpoint=tmp_path / "positions"))
    assert reason in text
    assert "Write it to a table or to files first" in text
    assert not (tmp_path / "positions").exists()
    assert run_to_end(spark, spark_spout(read, Row, checkpoint=tmp_path / "positions", trust_plan=True))


ACCEPTED: list[tuple[str, Callable[[DataFrame], DataFrame]]] = [
    ("filter", lambda frame: frame.where("id % 2 = 0")),
    ("broadcast", lambda frame: frame.join(sql.broadcast(frame.sparkSession.range(50)), "id")),
    ("sorted", lambda frame: frame.coalesce(1).sortWithinPartitions("id")),
    ("union", lambda frame: frame.union(frame.sparkSession.range(5))),
    ("values", lambda frame: frame.sparkSession.sql("SELECT id FROM VALUES (1L), (2L) AS t(id)")),
]


@pytest.mark.parametrize("change", [case[1] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_a_plan_whose_rows_keep_their_places_is_resumed(
    spark: SparkSession, files: str, tmp_path: Path, change: Callable[[DataFrame], DataFrame]
) -> None:
    """Filters, joins with a small table, and an order within a partition move nothing."""

    def read(session: SparkSession) -> DataFrame:
        return change(session.read.parquet(files))

    assert run_to_end(spark, spark_spout(read, Row, checkpoint=tmp_path / "positions"))
    assert run_to_end(spark, spark_spout(read, Row, checkpoint=tmp_path / "positions")) == []


def test_another_input_is_refused(spark: SparkSession, files: str, tmp_path: Path) -> None:
    """A file added, another plan or other columns would give rows the positions of others."""
    input = str(tmp_path / "rows")
    shutil.copytree(files, input)
    checkpoint = tmp_path / "positions"

    def source(condition: str, **options: Any) -> Spout:
        return spark_spout(
            lambda session: session.read.parquet(input).where(condition), Row, checkpoint=checkpoint, **options
        )

    stopped_after(spark, source("id >= 0"), 10)
    assert "the plan changed since checkpoint" in refusal(spark, source("id > 0"))
    assert run_to_end(spark, source("id > 0", trust_plan=True))
    spark.range(WIDTH, WIDTH + 10, 1, 1).write.mode("append").parquet(input)
    assert "the input files changed since checkpoint" in refusal(spark, source("id >= 0"))


def read_log(path: Path) -> list[list[int]]:
    """The rows that each run handled."""
    runs: list[list[int]] = []
    for line in path.read_text().splitlines():
        if line == "!":
            runs.append([])
        elif line != ".":
            runs[-1].append(int(line))
    return runs


@pytest.mark.timeout(240)
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,512]"])
def test_a_killed_run_is_resumed_by_another_process(spark: SparkSession, tmp_path: Path, master: str) -> None:
    """kill -9 in the middle: every row is handled at least once, and none before the position that was kept.

    On separate executors too, where partitions come in another order and from other processes.
    """
    input, checkpoint, seen = str(tmp_path / "rows"), tmp_path / "positions", tmp_path / "seen"
    count = 40_000
    spark.range(0, count, 1, 6).write.parquet(input)
    command = [sys.executable, str(PROGRAM), master, input, str(checkpoint), str(seen)]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while killed.poll() is None and (not seen.exists() or seen.stat().st_size < 80_000):
        threading.Event().wait(0.02)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    kept = Checkpoint(checkpoint)
    positions = kept.positions()
    kept.close()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    first, second = read_log(seen)
    assert set(first + second) == set(range(count))
    assert len(second) == count - sum(p.settled + sum(e - b for b, e in p.beyond) for p in positions.values())
