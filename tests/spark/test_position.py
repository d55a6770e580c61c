"""How far a partition is settled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.spark.position import Position


def test_rows_settled_in_order_leave_nothing_beyond() -> None:
    """The common case costs one number."""
    position = Position()
    for row in range(5):
        position.settle(row)
    assert (position.settled, position.beyond) == (5, [])


def test_a_gap_that_closes_takes_in_what_is_beyond_it() -> None:
    """The last row of a gap moves the position over all that was settled after it."""
    position = Position()
    for row in (1, 2, 4, 5):
        position.settle(row)
    assert (position.settled, position.beyond) == (0, [(1, 3), (4, 6)])
    position.settle(0)
    assert (position.settled, position.beyond) == (3, [(4, 6)])
    position.settle(3)
    assert (position.settled, position.beyond) == (6, [])


def test_memory_grows_with_the_gaps_and_not_with_the_rows() -> None:
    """One row that is never settled costs one range, however many follow."""
    position = Position()
    for row in range(1, 10_000):
        position.settle(row)
    assert position.beyond == [(1, 10_000)]


@given(st.permutations(range(30)), st.integers(0, 30))
def test_any_order_of_settling_gives_the_set_of_settled_rows(order: list[int], count: int) -> None:
    """Position and ranges together are the rows settled so far, and the gaps are the others."""
    position = Position(rows=30)
    for row in order[:count]:
        position.settle(row)
    ranges = [(0, position.settled), *position.beyond]
    assert sorted(order[:count]) == [row for first, end in ranges for row in range(first, end)]
    assert position.is_done == (count == 30)
    unsettled = [row for first, end in position.gaps(7, 23) for row in range(first, end)]
    assert unsettled == [row for row in range(7, 23) if row not in order[:count]]


@given(st.permutations(range(20)), st.integers(0, 20))
def test_a_position_goes_on_from_what_was_kept_of_it(order: list[int], count: int) -> None:
    """Rows settled before and after a restart make up one position."""
    before = Position()
    for row in order[:count]:
        before.settle(row)
    after = Position(before.settled, before.beyond, 20)
    for row in order[count:]:
        after.settle(row)
    assert after.is_done
    assert after.beyond == []
