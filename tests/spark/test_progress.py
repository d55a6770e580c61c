"""When positions are saved, and which pairs are left out."""

from pathlib import Path

import pyarrow as pa
import pytest

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.checkpoint import Checkpoint
from fsshelter_py.spark.pairs import Pair
from fsshelter_py.spark.position import Position
from fsshelter_py.spark.progress import Progress


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


class Kept:
    """A checkpoint, and what another run would find in it."""

    def __init__(self, path: Path, left: dict[int, Position] | None = None) -> None:
        self.clock = ManualClock()
        self.checkpoint = Checkpoint(path / "positions")
        self.progress = Progress(self.checkpoint, left if left is not None else {}, "the spout", self.clock)

    def settled(self) -> dict[int, int]:
        return {partition: position.settled for partition, position in self.checkpoint.positions().items()}


def test_positions_are_saved_once_a_second(tmp_path: Path) -> None:
    """Not with each ack, which would wait for the disk; and on close."""
    kept = Kept(tmp_path)
    kept.progress.begin(0, 10)
    for row in range(4):
        kept.progress.settle((0, row))
    assert kept.settled() == {}
    kept.clock.time = 1.0
    kept.progress.settle((0, 4))
    assert kept.settled() == {0: 5}
    kept.progress.settle((0, 5))
    assert kept.settled() == {0: 5}
    kept.progress.save()
    assert kept.settled() == {0: 6}


def test_a_partition_that_is_done_is_kept_as_done(tmp_path: Path) -> None:
    """An empty one at once; so that the next run reads neither."""
    kept = Kept(tmp_path)
    kept.progress.begin(0, 1)
    kept.progress.begin(1, 0)
    kept.progress.settle((0, 0, "dead"))
    kept.progress.save()
    assert all(position.is_done for position in kept.checkpoint.positions().values())
    assert set(kept.settled()) == {0, 1}


def test_only_unsettled_pairs_are_emitted(tmp_path: Path) -> None:
    """Those before the position and those beyond it are left out, slice by slice."""
    kept = Kept(tmp_path, {0: Position(3, [(5, 7), (9, 10)], 12)})
    kept.progress.begin(0, 12)
    found = []
    for begin in (0, 4, 8):
        rows: list[Pair] = [((0, row), f"row {row}") for row in range(begin, begin + 4)]
        batch = pa.record_batch({"x": [0] * 4})
        found += [key[1] for key, _ in kept.progress.unsettled((0, begin, batch), iter(rows))]
    assert found == [3, 4, 7, 8, 10, 11]


def test_a_partition_of_another_size_is_refused(tmp_path: Path) -> None:
    """Whatever else looked the same."""
    kept = Kept(tmp_path, {0: Position(3, rows=12)})
    with pytest.raises(SourceError, match="partition 0 has 11 rows now and had 12"):
        kept.progress.begin(0, 11)
