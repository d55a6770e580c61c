"""Components along their streams: an order, or the cycle that makes one impossible."""

from __future__ import annotations

import graphlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.model.order import cycle_of, in_order


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))))
def test_either_there_is_an_order_or_a_cycle(edges: list[tuple[str, str]]) -> None:
    """Each is what it says: the order respects every edge, the cycle follows edges back to its start."""
    cycle = cycle_of(edges)
    if not cycle:
        order = in_order("abcdef", edges)
        assert sorted(order) == list("abcdef")
        assert all(order.index(source) < order.index(target) for source, target in edges)
        return
    assert cycle[0] == cycle[-1]
    assert set(itertools.pairwise(cycle)) <= set(edges)
    with pytest.raises(graphlib.CycleError):
        in_order("abcdef", edges)
