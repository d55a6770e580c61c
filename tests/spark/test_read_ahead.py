"""Partitions read ahead."""

import threading
from collections.abc import Iterator

import pytest

from fsshelter_py import END
from fsshelter_py.spark.partitions import Partition
from fsshelter_py.spark.read_ahead import ReadAhead


class Reading:
    """A read of some partitions. begun: those whose reading has begun; one waits for ``go`` where it is told to."""

    def __init__(self, count: int, *, held: bool = False, fails: bool = False) -> None:
        self.begun: list[int] = []
        self.go = threading.Event()
        self.ready = threading.Event()
        self._held = held
        if not held:
            self.go.set()

        def partitions() -> Iterator[Partition]:
            for index in range(count):
                self.begun.append(index)
                assert self.go.wait(10)
                if fails:
                    raise ValueError("cannot be read")
                yield index, []

        self.ahead = ReadAhead(partitions, self.ready.set, "test")

    def take(self) -> int | None:
        """The number of the next partition, once it is there; None at the end."""
        while (taken := self.ahead.take()) is None:
            assert self.ready.wait(10)
            self.ready.clear()
        return None if taken is END else taken[0]


def test_partitions_come_in_order_and_then_the_end() -> None:
    """The end as often as it is asked for."""
    reading = Reading(3)
    assert [reading.take() for _ in range(5)] == [0, 1, 2, None, None]
    reading.ahead.close(lambda: None)


def test_one_partition_is_read_ahead_and_no_more() -> None:
    """So that two are in memory, with the one that is worked on."""
    reading = Reading(5)
    assert reading.take() == 0
    assert reading.take() == 1
    assert reading.begun in ([0, 1], [0, 1, 2])
    reading.ahead.close(lambda: None)
    assert reading.begun in ([0, 1], [0, 1, 2])


def test_what_is_not_there_yet_is_none() -> None:
    """The task does other things meanwhile, and is woken."""
    reading = Reading(1, held=True)
    assert reading.ahead.take() is None
    assert not reading.ready.is_set()
    reading.go.set()
    assert reading.take() == 0
    reading.ahead.close(lambda: None)


def test_an_error_is_raised_where_its_partition_is_taken() -> None:
    """In the task, which fails with it."""
    reading = Reading(1, fails=True)
    with pytest.raises(ValueError, match="cannot be read"):
        reading.take()
    reading.ahead.close(lambda: None)


def test_closing_cancels_until_the_reading_has_ended() -> None:
    """A job may begin just after the first cancelling."""
    reading = Reading(2, held=True)
    cancelled: list[bool] = []

    def cancel() -> None:
        cancelled.append(True)
        if len(cancelled) == 2:
            reading.go.set()

    while not reading.begun:
        assert not reading.ready.wait(0.001)
    reading.ahead.close(cancel)
    assert len(cancelled) >= 2
    assert reading.ahead.take() is END
    assert reading.begun == [0]
