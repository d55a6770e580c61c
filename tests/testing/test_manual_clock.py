"""The clock that stands still."""

import pytest

from fsshelter_py.testing import ManualClock


def test_time_moves_only_when_told_to() -> None:
    """It starts where asked, and every advance adds."""
    clock = ManualClock(start=10)
    assert [clock.now(), clock.now()] == [10, 10]
    clock.advance(0.5)
    clock.advance(2)
    assert clock.now() == 12.5


def test_time_never_runs_backwards() -> None:
    """As the clock protocol promises."""
    with pytest.raises(ValueError, match="moved back"):
        ManualClock().advance(-1)
