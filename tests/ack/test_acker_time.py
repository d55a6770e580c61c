"""Time told to the acker by whoever knows it better: a tree emitted some ticks ago, and ticks that expire nothing."""

from __future__ import annotations

import pytest

from fsshelter_py.ack import Acker
from fsshelter_py.model.outcome import NackReason


@pytest.mark.parametrize("late", [0, 1, 2])
def test_tree_tracked_late_expires_when_it_would_have(late: int) -> None:
    """Its time counts from its emit, however many ticks came before the track."""
    acker = Acker()
    for _ in range(10 + late):
        acker.tick()
    assert acker.track(1, 7, "a", 0b1, since=10) is None
    for _ in range(2 - late):
        assert acker.tick() == []
    [settled] = acker.tick()
    assert (settled.tuple_id, settled.reason) == ("a", NackReason("timeout"))


def test_tree_tracked_too_late_expires_at_once_unless_it_is_done() -> None:
    """What is done is acked all the same; what is open would have expired by now."""
    acker = Acker()
    for _ in range(3):
        acker.tick()
    acker.ok(1, 0b1)
    done, late = acker.track(1, 7, "done", 0b1, since=0), acker.track(2, 7, "late", 0b1, since=0, by=("split", 3))
    assert done is not None
    assert done.outcome == "acked"
    assert late is not None
    assert late.reason == NackReason("timeout", "split", 3)
    assert len(acker) == 0


def test_tree_tracked_before_the_tick_it_was_emitted_after_lives_as_long_as_any() -> None:
    """The emitter may hear of a tick before the acker does."""
    acker = Acker()
    acker.track(1, 7, "a", 0b1, since=1)
    assert [len(acker.tick()) for _ in range(4)] == [0, 0, 0, 1]


def test_track_names_who_had_the_tuple_last_until_somebody_does_something() -> None:
    """A tree that nobody is heard of any more names the one given with the track."""
    acker = Acker()
    acker.track(1, 7, "a", 0b1, by=("lines", 7))
    acker.track(2, 7, "b", 0b1, by=("lines", 7))
    acker.ok(2, 0b11, by=("split", 3))
    for _ in range(2):
        acker.tick()
    reasons = {settled.tuple_id: settled.reason for settled in acker.tick()}
    assert reasons == {"a": NackReason("timeout", "lines", 7), "b": NackReason("timeout", "split", 3)}


def test_tick_that_expires_nothing_still_forgets_what_is_not_tracked() -> None:
    """Without message timeouts, early and orphaned calls must not gather."""
    acker = Acker()
    acker.track(1, 7, "a", 0b1)
    acker.ok(2, 0b1)
    acker.fail(3)
    for _ in range(100):
        assert acker.tick(expire=False) == []
    assert len(acker) == 1
    assert len(acker._trees) == 1
    settled = acker.ok(1, 0b1)
    assert settled is not None
    assert settled.outcome == "acked"
