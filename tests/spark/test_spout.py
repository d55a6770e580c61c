"""The rows of a DataFrame as a spout."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fsshelter_py import Bolt, DeadLetter, Emit, Shuffle, Spout, Subscriptions, Topology, TopologyError, topology
from fsshelter_py.errors import SourceError, TopologyFailedError
from fsshelter_py.spark import host, spark_spout
from fsshelter_py.spark import spout as spout_module
from fsshelter_py.spark.partitions import partitions_of

WIDTH = 500


@dataclass(frozen=True, slots=True)
class Row:
    id: int
    name: str


class Seen:
    """What a bolt saw; any thread may add to it. ``refuse`` raises for the rows it does not take."""

    def __init__(self, refuse: Callable[[Row], None] | None = None) -> None:
        self.rows: list[Row] = []
        self.letters: list[DeadLetter] = []
        self._refuse = refuse

    def consume(self, one: Row | DeadLetter, emit: Emit[None]) -> None:
        if isinstance(one, DeadLetter):
            self.letters.append(one)
            return
        self.rows.append(one)
        if self._refuse is not None:
            self._refuse(one)

    @property
    def ids(self) -> list[int]:
        return [row.id for row in self.rows]


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, WIDTH, 1, 5).selectExpr("id", "concat('row ', id) AS name")


def reading(source: Spout, seen: Seen, *, dead_letters: bool = False, **conf: Any) -> Topology:
    @topology("reading")
    def declared() -> Subscriptions:
        spout = source
        bolt = Bolt.run(seen.consume)
        yield spout >> bolt | Shuffle.on(Row)
        if dead_letters:
            yield spout >> bolt | Shuffle.on(DeadLetter)

    return declared().with_conf(max_restarts=0, **conf)


def failing(ids: set[int], times: int) -> Callable[[Row], None]:
    """Raises for these rows, so many times each."""
    left = dict.fromkeys(ids, times)

    def refuse(row: Row) -> None:
        if left.get(row.id, 0):
            left[row.id] -= 1
            raise ValueError(f"refused {row.id}")

    return refuse


def test_every_row_is_a_tuple_settled_once(spark: SparkSession) -> None:
    """In order within a partition, and partitions in order."""
    seen = Seen()
    with host(reading(spark_spout(rows, Row, batch_rows=7), seen), spark) as hosted:
        summary = hosted.wait(60)
    assert summary.ok
    assert summary.acked == WIDTH
    assert seen.rows == [Row(n, f"row {n}") for n in range(WIDTH)]


def test_tasks_share_the_partitions(spark: SparkSession) -> None:
    """Each partition is read by one of them, also where there are fewer partitions than tasks."""
    for tasks in (2, 8):
        seen = Seen()
        with host(reading(spark_spout(rows, Row).with_parallelism(tasks), seen), spark) as hosted:
            assert hosted.wait(60).acked == WIDTH
        assert sorted(seen.ids) == list(range(WIDTH))


def test_one_topology_hosted_twice_reads_everything_twice(spark: SparkSession) -> None:
    """Two runs of one spout do not share its rows."""
    seen = Seen()
    twice = reading(spark_spout(rows, Row), seen)
    with host(twice, spark) as first, host(twice, spark) as second:
        assert (first.wait(60).acked, second.wait(60).acked) == (WIDTH, WIDTH)
    assert sorted(seen.ids) == sorted([*range(WIDTH), *range(WIDTH)])


def test_a_nacked_row_is_emitted_again(spark: SparkSession) -> None:
    """From memory: nothing is read twice."""
    seen = Seen(failing({3, 499}, 2))
    with host(reading(spark_spout(rows, Row), seen), spark) as hosted:
        summary = hosted.wait(60)
    assert summary.ok
    assert (summary.acked, summary.failed) == (WIDTH, 4)
    assert sorted(seen.ids) == sorted([*range(WIDTH), 3, 3, 499, 499])


def test_a_row_given_up_becomes_a_dead_letter(spark: SparkSession) -> None:
    """With the attempts it had and the last reason; the run says that not everything was handled."""
    seen = Seen(failing({3}, 99))
    given = reading(spark_spout(rows, Row, max_attempts=2, tuple_id="name"), seen, dead_letters=True)
    with host(given, spark) as hosted:
        summary = hosted.wait(60)
    (letter,) = seen.letters
    assert (letter.tuple, letter.attempts, str(letter.reason.error)) == (Row(3, "row 3"), 2, "refused 3")
    assert not summary.ok


def test_both_ways_into_the_driver_give_the_same_batches(spark: SparkSession) -> None:
    """The public one stands in where Spark's own is not there."""
    frame = rows(spark)
    found = []
    for internal in (True, False):
        partitions = partitions_of(frame, "tests", tasks=1, internal=internal)
        count = partitions.plan()
        assert count == 5
        read = [partition for index in range(count) for partition in partitions.read(index)]
        found.append([(index, [row for batch in batches for row in batch.to_pylist()]) for index, batches in read])
    assert found[0] == found[1]


def test_memory_holds_two_partitions_at_most(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is worked on one more is read, and no third before the first is used up."""
    ahead: list[int] = []
    seen = Seen()

    class Counted:
        def __init__(self, *args: Any, **options: Any) -> None:
            self._inner = partitions_of(*args, **options)

        def plan(self) -> int | None:
            return self._inner.plan()

        def read(self, index: int) -> Any:
            ahead.append(index - len(seen.rows) // (WIDTH // 5))
            return self._inner.read(index)

        def cancel(self) -> None:
            self._inner.cancel()

    monkeypatch.setattr(spout_module, "partitions_of", Counted)
    with host(reading(spark_spout(rows, Row, batch_rows=10), seen), spark) as hosted:
        assert hosted.wait(60).acked == WIDTH
    assert len(ahead) == 5
    assert max(ahead) <= 1


def test_a_stop_in_the_middle_leaves_no_job_running(spark: SparkSession) -> None:
    """The jobs of a spout carry a group, and are cancelled by it."""

    def slow(session: SparkSession) -> DataFrame:
        endless = "aggregate(sequence(1, 2000000), 0D, (a, x) -> a + sqrt(x))"
        return session.range(0, 2000, 1, 2).selectExpr("id", f"cast({endless} AS string) AS name")

    tracker: Any = spark.sparkContext.statusTracker()
    running = threading.Event()

    def wait_for_job() -> None:
        while not tracker.getActiveJobsIds():
            if running.wait(0.02):
                return

    with host(reading(spark_spout(slow, Row), Seen()), spark) as hosted:
        watcher = threading.Thread(target=wait_for_job)
        watcher.start()
        watcher.join(30)
        running.set()
        assert tracker.getActiveJobsIds()
        hosted.stop(0)
    assert not tracker.getActiveJobsIds()
    assert not [t.name for t in threading.enumerate() if t.name.startswith("fsshelter-spark")]


def test_what_does_not_fit_is_told_before_the_first_row(spark: SparkSession) -> None:
    """And is not tried again."""
    seen = Seen()
    wrong = reading(spark_spout(lambda session: session.range(3).selectExpr("'a' AS id"), Row), seen)
    with host(wrong, spark) as hosted, pytest.raises(TopologyFailedError) as caught:
        hosted.wait(60)
    text = str(caught.value)
    assert "spark_spout 'spout': the rows do not fit Row:" in text
    assert "column 'id' is string and Row.id is int" in text
    assert "there is no column 'name' for Row.name" in text
    assert not seen.rows


def test_a_null_that_is_not_allowed_is_told_with_its_place(spark: SparkSession) -> None:
    """Which row of which partition it is in."""
    source = spark_spout(lambda session: session.range(0, 9, 1, 3).selectExpr("id", "if(id = 4, NULL, 'x') name"), Row)
    with host(reading(source, Seen()), spark) as hosted, pytest.raises(TopologyFailedError) as caught:
        hosted.wait(60)
    assert "partition 1, row 1: column 'name' holds a null and Row.name does not take None" in str(caught.value)


def test_a_table_that_is_not_there_is_told_in_a_line(spark: SparkSession) -> None:
    """In Spark's words, without its plan."""
    source = spark_spout(lambda session: session.table("no_such_table"), Row)
    with host(reading(source, Seen()), spark) as hosted, pytest.raises(TopologyFailedError) as caught:
        hosted.wait(60)
    assert isinstance(caught.value.__cause__, SourceError)
    assert "no_such_table" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_spark_task_that_fails_and_is_retried_loses_and_doubles_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """A partition's rows come when the whole of it was read; what a failed try gave is not seen."""
    marker = str(tmp_path / "failed")

    def read(session: SparkSession) -> DataFrame:
        def fails_once(batches: Any) -> Any:
            import os

            for number, batch in enumerate(batches):
                yield batch
                if number == 1 and not os.path.exists(marker):
                    open(marker, "w").close()
                    raise RuntimeError("fails once, in the middle of the partition")

        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "20")
        return rows(session).mapInArrow(fails_once, "id long, name string")

    seen = Seen()
    with host(reading(spark_spout(read, Row), seen), spark) as hosted:
        assert hosted.wait(60).acked == WIDTH
    assert Path(marker).exists()
    assert seen.ids == list(range(WIDTH))


def test_an_error_in_the_plan_fails_the_run(spark: SparkSession) -> None:
    """What Spark cannot compute is no input."""
    source = spark_spout(
        lambda session: session.range(9).selectExpr("id", "cast(raise_error('broken') AS string) AS name"), Row
    )
    with host(reading(source, Seen()), spark) as hosted, pytest.raises(TopologyFailedError, match="broken"):
        hosted.wait(60)


def test_a_topology_is_checked_against_the_class(spark: SparkSession) -> None:
    """A stream that the spout does not emit is refused when the topology is built."""

    @dataclass
    class Other:
        x: int

    @topology("wrong")
    def wrong() -> Subscriptions:
        spout = spark_spout(rows, Row)
        bolt = Bolt.run(Seen().consume)
        yield spout >> bolt | Shuffle.on(Other)

    with pytest.raises(TopologyError, match="Other"):
        wrong()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"max_attempts": 0}, "max_attempts is 0"), ({"batch_rows": True}, "batch_rows is True")],
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, Any], error: str) -> None:
    """Where they are given, and not when the topology runs."""
    with pytest.raises(ValueError, match=error):
        spark_spout(rows, Row, **arguments)


def test_rows_need_a_tuple_class() -> None:
    """Anything else has no fields."""
    with pytest.raises(TypeError, match="into is <class 'int'>"):
        spark_spout(rows, int)
