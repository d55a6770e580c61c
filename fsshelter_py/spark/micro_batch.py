"""Micro-batches handed from Spark's thread to a spout's task, and back once every row is settled.

Thread contract: Spark calls ``process`` in a thread of its own, and lets it return normally only for a batch that is
done for good; everything else is called by the task's executor. A lock and a condition join the two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from fsshelter_py.model.outcome import END, EndOfInput, NackReason
from fsshelter_py.spark.pairs import Pair, PairMaker, Slice
from fsshelter_py.spark.replay import Key, Replay

__all__ = ["BatchFailedError", "MicroBatches"]


class BatchFailedError(Exception):
    """A micro-batch is not done: Spark must not take it for processed. It comes again when the query starts anew."""


class MicroBatches:
    """The rows of one micro-batch after another.

    again, pairs: as of a ``RowSource``. Invariant: ``_unsettled`` is the number of rows of the present batch that are
    neither acked nor, by a dead letter, given up; ``_failed`` says why the present batch cannot be done any more.
    """

    def __init__(self, maker: PairMaker, replay: Replay, wake: Callable[[], None], timeout: float | None) -> None:
        """timeout: seconds that a batch may take."""
        self.again = replay.again
        self.pairs: Iterator[Pair] = iter(())
        self._replay = replay
        self._maker = maker
        self._wake = wake
        self._timeout = timeout
        self._slices: Iterator[Slice] = iter(())
        self._condition = threading.Condition()
        self._incoming: tuple[int, list[pa.RecordBatch]] | None = None
        self._unsettled = 0
        self._failed: str | None = None
        self._ended: BaseException | EndOfInput | None = None

    # --- Spark's threads --------------------------------------------------------------------------------------------

    def process(self, table: pa.Table, batch: int) -> None:
        """Have every row settled. Raises ``BatchFailedError`` in every other case."""
        with self._condition:
            if self._failed is None:
                self._unsettled = table.num_rows
                self._incoming = (batch, table.to_batches())
                del table  # its rows are let go one slice after another
                self._wake()
                if not self._condition.wait_for(lambda: not self._unsettled or self._failed, self._timeout):
                    self._failed = f"micro-batch {batch} was not settled in {self._timeout} s"
            if self._failed is not None:
                raise BatchFailedError(self._failed)

    def ended(self, error: BaseException | None) -> None:
        """The query has ended: by the failure of a batch, else by that error if there is one."""
        with self._condition:
            failed = self._failed
        self._ended = BatchFailedError(failed) if failed is not None and error is not None else error or END
        self._wake()

    # --- the executor -----------------------------------------------------------------------------------------------

    def more(self) -> Pair | None | EndOfInput:
        """The first pair of the next rows. Raises what ended the query."""
        while True:
            for slice in self._slices:
                for pair in (pairs := self._maker.pairs(slice)):
                    self.pairs = pairs
                    return pair
            with self._condition:
                incoming, self._incoming = self._incoming, None
            if incoming is not None:
                self._slices = self._maker.slices(*incoming)
            elif isinstance(self._ended, BaseException):
                raise self._ended
            else:
                return self._ended

    def ack(self, key: Key) -> None:
        """A row, or the dead letter of one, was acked."""
        self._replay.ack(key)
        self._unsettled -= 1
        if not self._unsettled:
            with self._condition:
                self._condition.notify_all()

    def nack(self, key: Key, reason: NackReason, tuple: Any) -> None:
        """A row was nacked; the last time that is the batch's failure, unless a dead letter is emitted for it."""
        if not self._replay.nack(key, tuple, reason):
            self.fail(f"micro-batch {key[0]}: row {key[1]} was given up: {reason}")

    def fail(self, why: str) -> None:
        """The present batch, and all that would follow it, cannot be done."""
        with self._condition:
            self._failed = self._failed or why
            self._condition.notify_all()
