"""The rows of a streaming DataFrame as a spout."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fsshelter_py import Bolt, Emit, Shuffle, Spout, Subscriptions, Topology, topology
from fsshelter_py.errors import TopologyFailedError
from fsshelter_py.spark import host, spark_stream_spout


@dataclass(frozen=True, slots=True)
class Line:
    value: str
    batch_id: int


class Lines:
    """Files of lines, read one file a micro-batch, with a checkpoint beside them."""

    def __init__(self, directory: Path) -> None:
        self._files = directory / "in"
        self._files.mkdir()
        self._checkpoint = directory / "checkpoint"
        self.seen: list[Line] = []

    def add(self, name: str, count: int = 3) -> None:
        whole = self._files / f".{name}"
        whole.write_text("".join(f"{name}{n}\n" for n in range(count)))
        whole.rename(self._files / f"{name}.txt")

    def spout(self, **options: Any) -> Spout:
        def read(spark: SparkSession) -> DataFrame:
            return spark.readStream.option("maxFilesPerTrigger", 1).text(str(self._files))

        return spark_stream_spout(read, Line, checkpoint=self._checkpoint, **options)

    def reading(self, handle: Callable[[Line], None] = lambda line: None, **options: Any) -> Topology:
        def consume(line: Line, emit: Emit[None]) -> None:
            self.seen.append(line)
            handle(line)

        @topology("lines")
        def declared() -> Subscriptions:
            spout = self.spout(**({"available_now": True} | options))
            bolt = Bolt.run(consume)
            yield spout >> bolt | Shuffle.on(Line)

        return declared()

    def values(self) -> list[str]:
        return sorted(line.value for line in self.seen)


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    return Lines(tmp_path)


def once(error: Exception, value: str) -> Callable[[Line], None]:
    """Raises for the line of that value, the first time."""
    left = [error]

    def handle(line: Line) -> None:
        if line.value == value and left:
            raise left.pop()

    return handle


def test_available_now_runs_to_the_end_and_the_next_run_goes_on(spark: SparkSession, lines: Lines) -> None:
    """Each micro-batch once, with its number."""
    lines.add("a")
    lines.add("b")
    with host(lines.reading(), spark) as hosted:
        assert hosted.wait(60).acked == 6
    assert lines.values() == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert {line.batch_id for line in lines.seen} == {0, 1}
    lines.seen.clear()
    lines.add("c")
    with host(lines.reading(), spark) as hosted:
        assert hosted.wait(60).acked == 3
    assert (lines.values(), {line.batch_id for line in lines.seen}) == (["c0", "c1", "c2"], {2})


def test_a_nacked_row_is_emitted_again_within_its_batch(spark: SparkSession, lines: Lines) -> None:
    """Spark sees nothing of it."""
    lines.add("a")
    with host(lines.reading(once(ValueError("not now"), "a1")), spark) as hosted:
        summary = hosted.wait(60)
    assert (summary.ok, summary.restarts, lines.values()) == (True, 0, ["a0", "a1", "a1", "a2"])


def test_a_row_given_up_fails_its_batch_which_comes_again(spark: SparkSession, lines: Lines) -> None:
    """By option; the topology restarts, and Spark replays the batch as a whole."""
    lines.add("a")
    topology = lines.reading(once(ValueError("never"), "a1"), max_attempts=1, on_give_up="fail_batch")
    with host(topology, spark) as hosted:
        summary = hosted.wait(60)
        assert "row 1 was given up: failed in bolt" in str(hosted.last_error)
    assert (summary.ok, summary.restarts) == (True, 1)
    assert set(lines.values()) == {"a0", "a1", "a2"}
    assert {line.batch_id for line in lines.seen} == {0}


def test_a_crash_in_the_middle_of_a_batch_has_it_come_again(spark: SparkSession, lines: Lines) -> None:
    """The runtime fails, the query fails with it, and both start anew from the batch that was not done."""
    lines.add("a")
    lines.add("b")
    crashed: list[bool] = []

    class Crashing:
        """A spout beside the stream that fails the topology once, in the middle of the second batch."""

        def next(self) -> None:
            if not crashed and len(lines.seen) >= 4:
                crashed.append(True)
                raise RuntimeError("crashed")

    def hold(line: Line) -> None:
        if len(lines.seen) == 4 and not crashed:
            raise ValueError("held until the crash")

    crashing = Crashing()

    @topology("crashing")
    def beside() -> Subscriptions:
        other = Spout.run_unreliable(lambda ctx: crashing.next())
        ignoring = Bolt.run(lambda line, emit: None)
        yield other >> ignoring | Shuffle.on(Line)

    with host(lines.reading(hold, available_now=False) + beside(), spark) as hosted:
        with pytest.raises(TimeoutError):
            hosted.wait(0.5)
        while hosted.stats().restarts == 0 or hosted.stats().state != "running" or len(set(lines.values())) < 6:
            with pytest.raises(TimeoutError):
                hosted.wait(0.1)
        hosted.stop()
    assert crashed
    assert set(lines.values()) == {"a0", "a1", "a2", "b0", "b1", "b2"}
    batches = [line.batch_id for line in lines.seen]
    assert batches == sorted(batches)
    assert len(batches) > 6


def test_a_stop_fails_the_batch_and_ends_the_query(spark: SparkSession, lines: Lines) -> None:
    """What was not settled comes in the next run; no query is left."""
    lines.add("a")

    def never(line: Line) -> None:
        raise ValueError("not in this run")

    with host(lines.reading(never, available_now=False), spark) as hosted:
        while not lines.seen:
            with pytest.raises(TimeoutError):
                hosted.wait(0.05)
        hosted.stop(0)
    assert not spark.streams.active
    lines.seen.clear()
    with host(lines.reading(), spark) as hosted:
        assert hosted.wait(60).acked == 3
    assert lines.values() == ["a0", "a1", "a2"]


def test_a_stream_is_read_by_one_task(spark: SparkSession, lines: Lines) -> None:
    """Spark has one query at a checkpoint."""

    @topology("two")
    def two() -> Subscriptions:
        spout = lines.spout().with_parallelism(2)
        bolt = Bolt.run(lambda line, emit: None)
        yield spout >> bolt | Shuffle.on(Line)

    with host(two(), spark) as hosted, pytest.raises(TopologyFailedError, match="it has parallelism 2"):
        hosted.wait(60)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"on_give_up": "retry"}, "on_give_up is 'retry'"),
        ({"available_now": True, "trigger": "1 second"}, "exclude each other"),
    ],
)
def test_wrong_arguments_are_refused_at_once(lines: Lines, options: dict[str, Any], error: str) -> None:
    """Where they are given."""
    with pytest.raises(ValueError, match=error):
        lines.spout(**options)
