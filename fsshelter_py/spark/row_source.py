"""One task of a batch spout: the rows of its partitions, and how far they are settled.

Thread contract: everything here is called by the task's executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fsshelter_py.model.outcome import END, EndOfInput, NackReason
from fsshelter_py.spark.pairs import Pair, PairMaker, Slice
from fsshelter_py.spark.progress import Progress
from fsshelter_py.spark.read_ahead import ReadAhead
from fsshelter_py.spark.replay import Key, Replay

__all__ = ["RowSource"]


class RowSource:
    """The rows of the partitions of one task.

    again: pairs to emit before all others. pairs: those made and not emitted yet.
    """

    def __init__(
        self,
        maker: PairMaker,
        replay: Replay,
        ahead: ReadAhead,
        close: Callable[[], None],
        progress: Progress | None,
    ) -> None:
        """close: ends the reading. progress: where there is a checkpoint."""
        self.again = replay.again
        self.pairs: Iterator[Pair] = iter(())
        self._replay = replay
        self._maker = maker
        self._ahead = ahead
        self._close = close
        self._progress = progress
        self._slices: Iterator[Slice] = iter(())
        self.ack: Callable[[Key], None] = replay.ack if progress is None else self._ack

    def more(self) -> Pair | None | EndOfInput:
        """The first pair of the next rows, once ``pairs`` is used up."""
        progress = self._progress
        while True:
            for slice in self._slices:
                pairs = self._maker.pairs(slice)
                if progress is not None:
                    pairs = progress.unsettled(slice, pairs)
                for pair in pairs:
                    self.pairs = pairs
                    return pair
            taken = self._ahead.take()
            if taken is None or taken is END:
                return taken
            partition, batches = taken
            if progress is not None:
                progress.begin(partition, sum(batch.num_rows for batch in batches))
            self._slices = self._maker.slices(partition, batches)

    def nack(self, key: Key, reason: NackReason, tuple: Any) -> None:
        """A tuple was nacked."""
        self._replay.nack(key, tuple, reason)

    def _ack(self, key: Key) -> None:
        self._replay.ack(key)
        assert self._progress is not None
        self._progress.settle(key)

    def close(self) -> None:
        """Save the progress and end the reading, even if the first fails."""
        try:
            if self._progress is not None:
                self._progress.save()
        finally:
            self._close()
