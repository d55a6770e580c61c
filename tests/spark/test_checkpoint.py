"""Positions kept in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.checkpoint import Checkpoint
from fsshelter_py.spark.position import Position


def test_positions_are_there_again(tmp_path: Path) -> None:
    """What was saved is what the next run finds, the last save of a partition winning."""
    path = tmp_path / "made" / "positions"
    first = Checkpoint(path)
    assert first.about() == {}
    first.begin({"plan": "p"})
    first.save([(0, Position(3)), (1, Position(1, [(4, 6), (9, 10)], 12))])
    first.save([(0, Position(7, rows=7))])
    first.close()
    second = Checkpoint(path)
    positions = second.positions()
    assert second.about() == {"plan": "p"}
    assert (positions[0].is_done, positions[1].settled, positions[1].beyond) == (True, 1, [(4, 6), (9, 10)])
    second.close()


def test_two_runs_cannot_use_it_at_once(tmp_path: Path) -> None:
    """Two runs would take one another's rows for settled."""
    first = Checkpoint(tmp_path / "positions")
    with pytest.raises(SourceError, match="another run is using it"):
        Checkpoint(tmp_path / "positions")
    first.close()
    Checkpoint(tmp_path / "positions").close()


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """Nothing is written over a file that is no checkpoint."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database\n" * 100)
    with pytest.raises(SourceError, match="it is no checkpoint"):
        Checkpoint(path)
    assert path.read_text().startswith("not a database")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    """A path that cannot be opened says so."""
    with pytest.raises(SourceError, match="cannot be opened"):
        Checkpoint(tmp_path)
