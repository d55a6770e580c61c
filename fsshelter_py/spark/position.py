"""How far a partition is settled. No thread, no clock, no I/O."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Position"]


class Position:
    """Which rows of a partition are settled, in memory that grows with the gaps and not with the rows.

    settled: all rows before this one are. Invariant: the ranges beyond it are disjoint and none touches another or
    ``settled``; each stands in ``_begins`` by its first row and in ``_ends`` by the row after its last.
    rows: how many the partition has, once that is known.
    """

    __slots__ = ("_begins", "_ends", "rows", "settled")

    def __init__(self, settled: int = 0, beyond: Iterable[tuple[int, int]] = (), rows: int | None = None) -> None:
        self.settled = settled
        self.rows = rows
        self._begins = dict(beyond)
        self._ends = {end: begin for begin, end in self._begins.items()}

    def settle(self, row: int) -> None:
        """The row is settled. Once more is harmless for one before ``settled``; one beyond must not come twice."""
        if row == self.settled:
            end = self._begins.pop(row + 1, None)
            if end is None:
                self.settled = row + 1
            else:
                del self._ends[end]
                self.settled = end
        elif row > self.settled:
            begin = self._ends.pop(row, row)
            end = self._begins.pop(row + 1, row + 1)
            self._begins[begin] = end
            self._ends[end] = begin

    @property
    def beyond(self) -> list[tuple[int, int]]:
        """The settled ranges beyond ``settled``, as (first, last + 1), in order."""
        return sorted(self._begins.items())

    @property
    def is_done(self) -> bool:
        """Whether every row is settled."""
        return self.settled == self.rows

    def gaps(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The unsettled ranges of the rows from ``begin`` to before ``end``."""
        found = []
        begin = max(begin, self.settled)
        for first, last in self.beyond:
            if last <= begin:
                continue
            if first >= end:
                break
            if first > begin:
                found.append((begin, first))
            begin = last
        if begin < end:
            found.append((begin, end))
        return found
