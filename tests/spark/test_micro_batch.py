"""Micro-batches between Spark's thread and the task's."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as sql

from fsshelter_py import END, DeadLetter, NackReason
from fsshelter_py.spark.columns import TupleMaker
from fsshelter_py.spark.micro_batch import BatchFailedError, MicroBatches
from fsshelter_py.spark.pairs import PairMaker
from fsshelter_py.spark.replay import Replay

FAILED = NackReason("failed", "bolt")
SCHEMA = sql.StructType([sql.StructField("x", sql.LongType())])


@dataclass(frozen=True)
class Row:
    x: int


class Log:
    def error(self, event: str, **_: Any) -> None:
        """What is given up is told by the batch's failure here."""


class Spark:
    """Stands for Spark's thread. ``woken`` is set when there is something for the task."""

    def __init__(self, *, max_attempts: int | None = None, dead_letters: bool = True, timeout: float | None = None):
        self.woken = Event()
        pairs = PairMaker(TupleMaker(SCHEMA, Row, "UTC", "spout"), 2, None, "spout", "micro-batch")
        replay = Replay(max_attempts, Log(), dead_letters=dead_letters)
        self.batches = MicroBatches(pairs, replay, self.woken.set, timeout)
        self._thread = ThreadPoolExecutor(1)

    def process(self, count: int, batch: int = 0) -> "Future[None]":
        """A micro-batch of so many rows; returns once the task can take it."""
        future = self._thread.submit(self.batches.process, pa.table({"x": list(range(count))}), batch)
        assert self.woken.wait(10)
        self.woken.clear()
        return future

    def taken(self) -> Iterator[tuple[Any, Any]]:
        """What the task takes until there is nothing more now."""
        while True:
            again = self.batches.again
            pair: Any = again.popleft() if again else next(self.batches.pairs, None) or self.batches.more()
            if pair is None or pair is END:
                return
            yield pair


def test_a_batch_is_done_when_every_row_is_acked() -> None:
    """And not before."""
    spark = Spark()
    done = spark.process(5, batch=3)
    keys = [key for key, _ in spark.taken()]
    assert keys == [(3, row) for row in range(5)]
    for key in keys:
        assert not done.done()
        spark.batches.ack(key)
    assert done.result(10) is None


def test_a_nacked_row_comes_again_and_holds_the_batch() -> None:
    """It is settled when it is acked at last."""
    spark = Spark()
    done = spark.process(1)
    ((key, row),) = spark.taken()
    spark.batches.nack(key, FAILED, row)
    assert list(spark.taken()) == [(key, row)]
    assert not done.done()
    spark.batches.ack(key)
    assert done.result(10) is None


def test_a_dead_letter_settles_its_row() -> None:
    """The batch is done once the letter is acked."""
    spark = Spark(max_attempts=1)
    done = spark.process(1)
    ((key, row),) = spark.taken()
    spark.batches.nack(key, FAILED, row)
    ((key, letter),) = spark.taken()
    assert isinstance(letter, DeadLetter)
    assert not done.done()
    spark.batches.ack(key)
    assert done.result(10) is None


def test_a_row_given_up_can_fail_the_batch() -> None:
    """By option, and whenever its dead letter is lost."""
    spark = Spark(max_attempts=1, dead_letters=False)
    done = spark.process(2, batch=7)
    (key, row), _ = spark.taken()
    spark.batches.nack(key, FAILED, row)
    with pytest.raises(BatchFailedError, match="micro-batch 7: row 0 was given up: failed in bolt"):
        done.result(10)


def test_a_stop_fails_the_batch() -> None:
    """Spark must not take it for processed."""
    spark = Spark()
    done = spark.process(2)
    spark.batches.fail("the topology stopped first")
    with pytest.raises(BatchFailedError, match="stopped first"):
        done.result(10)
    with pytest.raises(BatchFailedError, match="stopped first"):
        spark.batches.process(pa.table({"x": [1]}), 1)


def test_a_batch_that_takes_too_long_fails() -> None:
    """After the time given, whatever is acked later."""
    spark = Spark(timeout=0.01)
    with pytest.raises(BatchFailedError, match=r"micro-batch 0 was not settled in 0.01 s"):
        spark.process(1).result(10)


def test_an_empty_batch_is_done_at_once() -> None:
    """There is nobody to settle it."""
    assert Spark().process(0).result(10) is None


def test_the_end_of_the_query_is_the_end_of_the_input() -> None:
    """Or the failure that ended it: of a batch where there was one, in the words that say why."""
    spark = Spark()
    spark.batches.ended(None)
    assert spark.batches.more() is END
    broken = Spark()
    broken.batches.ended(ValueError("the source is gone"))
    with pytest.raises(ValueError, match="the source is gone"):
        broken.batches.more()
    failed = Spark()
    failed.batches.fail("row 3 was given up")
    failed.batches.ended(ValueError("a trace of Java"))
    with pytest.raises(BatchFailedError, match="row 3"):
        failed.batches.more()
