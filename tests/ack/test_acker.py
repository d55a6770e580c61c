"""The acker, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from fsshelter_py.ack import Acker, Settled
from fsshelter_py.errors import ConfError
from fsshelter_py.model.outcome import NackReason

FAILED = NackReason("failed", component="split", task_id=4, error=ValueError("no"))


def acked(tuple_id: object = "id") -> Settled:
    return Settled(1, tuple_id, "acked", None)


def nacked(reason: NackReason, tuple_id: object = "id") -> Settled:
    return Settled(1, tuple_id, "nacked", reason)


def held(acker: Acker) -> int:
    """Everything the acker keeps: trees heard of, and settled ones it remembers."""
    return len(acker._trees) + len(acker._settled)


def test_tree_is_acked_when_every_delivery_is_done() -> None:
    """Two deliveries, of which one causes a third."""
    acker = Acker()
    assert acker.track(7, 1, "id", 0b001 ^ 0b010) is None
    assert acker.ok(7, 0b001 ^ 0b100) is None
    assert acker.ok(7, 0b010) is None
    assert acker.ok(7, 0b100) == acked()


def test_track_with_nothing_delivered_waits_for_an_ok() -> None:
    """An XOR of 0 with no ok is a tree that has not begun."""
    acker = Acker()
    assert acker.track(7, 1, "id") is None
    assert len(acker) == 1
    assert acker.anchor(7, 0b1) is None
    assert acker.ok(7, 0b1) == acked()


def test_tree_without_any_delivery_is_acked_by_an_empty_ok() -> None:
    """Work done in the turn of the emit leaves no id behind, only an ok."""
    acker = Acker()
    acker.track(7, 1, "id")
    assert acker.ok(7, 0) == acked()


def test_ok_before_track_is_acked_by_track() -> None:
    """The outcome of calls that came early is returned by track."""
    acker = Acker()
    assert acker.ok(7, 0b1) is None
    assert len(acker) == 0
    assert acker.track(7, 1, "id", 0b1) == acked()


def test_anchor_that_comes_last_acks() -> None:
    """Whichever call brings the XOR to 0 settles the tree."""
    acker = Acker()
    acker.track(7, 1, "id")
    assert acker.ok(7, 0b1) is None
    assert acker.anchor(7, 0b1) == acked()


def test_failure_nacks_at_once_with_its_reason() -> None:
    """The other deliveries are not waited for."""
    acker = Acker()
    acker.track(7, 1, "id", 0b11)
    assert acker.fail(7, FAILED) == nacked(FAILED)


def test_failure_without_a_reason_is_of_kind_failed() -> None:
    """Every nack has a reason."""
    acker = Acker()
    acker.track(7, 1, "id", 0b1)
    assert acker.fail(7) == nacked(NackReason("failed"))


def test_fail_before_track_still_nacks() -> None:
    """The first reason given is kept until somebody can be told."""
    acker = Acker()
    assert acker.fail(7, FAILED) is None
    assert acker.fail(7) is None
    assert acker.track(7, 1, "id", 0b1) == nacked(FAILED)


def test_fail_before_track_wins_over_a_complete_xor() -> None:
    """A tree with a failure is never acked, even where its XOR is 0 by the time it is tracked."""
    acker = Acker()
    acker.ok(7, 0b1)
    acker.fail(7, FAILED)
    assert acker.track(7, 1, "id", 0b1) == nacked(FAILED)


@pytest.mark.parametrize("end", ["acked", "failed", "timeout", "capacity"])
def test_late_calls_change_nothing(end: str) -> None:
    """However a tree ended, no call settles it again, not even a second track that meets a late ok."""
    acker = Acker(capacity=1)
    if end == "capacity":
        acker.track(6, 1, "other", 0b1)
    first = [acker.track(7, 1, "id", 0b1)]
    if end == "acked":
        first.append(acker.ok(7, 0b1))
    elif end == "failed":
        first.append(acker.fail(7))
    elif end == "timeout":
        first += [settled for _ in range(3) for settled in acker.tick()]
    assert sum(settled is not None for settled in first) == 1
    before = held(acker)
    assert [acker.ok(7, 0b1), acker.anchor(7, 0b10), acker.ok(7, 0b10), acker.fail(7), acker.reset_timeout(7)] == [
        None
    ] * 5
    assert acker.track(7, 1, "id", 0) is None
    assert acker.track(7, 1, "id", 0b1) is None
    assert acker.ok(7, 0b1) is None
    assert held(acker) == before


def test_second_track_of_a_live_tree_is_ignored() -> None:
    """It neither folds its ids in again nor changes whose tuple it is nor gives it more time."""
    acker = Acker(buckets=2)
    acker.track(7, 1, "id", 0b1)
    acker.tick()
    assert acker.track(7, 2, "other", 0b1) is None
    assert len(acker) == 1
    assert acker.tick() == [nacked(NackReason("timeout"))]


def test_anchor_may_be_used_again_once_the_buckets_have_rotated() -> None:
    """What is remembered of a settled tree is gone with as many ticks as there are buckets."""
    acker = Acker()
    acker.track(7, 1, "id", 0b1)
    acker.ok(7, 0b1)
    for _ in range(3):
        acker.tick()
    assert acker.track(7, 1, "id", 0b1) is None
    assert acker.ok(7, 0b1) == acked()


def test_expired_tree_names_who_had_it_last() -> None:
    """The reason of a timeout tells where the tuple was seen last."""
    acker = Acker()
    acker.track(7, 1, "id", 0b1)
    acker.ok(7, 0b11, by=("split", 3))
    acker.anchor(7, 0b100, by=("count", 5))
    acker.ok(7, 0)
    assert [acker.tick() for _ in range(3)][-1] == [nacked(NackReason("timeout", component="count", task_id=5))]


def test_expired_tree_that_nobody_touched_names_nobody() -> None:
    """Where it is unknown the reason says so."""
    acker = Acker(buckets=2)
    acker.track(7, 1, "id", 0b1)
    assert [acker.tick() for _ in range(2)] == [[], [nacked(NackReason("timeout"))]]


def test_trees_expire_in_the_order_tracked() -> None:
    """One tick may settle any number."""
    acker = Acker(buckets=2)
    for anchor in (3, 1, 2):
        acker.track(anchor, 1, anchor, 0b1)
    acker.ok(1, 0b1)
    acker.tick()
    assert [settled.tuple_id for settled in acker.tick()] == [3, 2]
    assert len(acker) == 0


def test_early_calls_take_nothing_from_the_time_of_a_tree() -> None:
    """An entry made by an early ok is about to vanish when track comes; the tree still has all its time."""
    acker = Acker()
    acker.ok(7, 0b11)
    acker.tick()
    acker.tick()
    acker.track(7, 1, "id", 0b1)
    assert [acker.tick() for _ in range(3)] == [[], [], [nacked(NackReason("timeout"))]]


@pytest.mark.parametrize("call", ["ok", "anchor"])
def test_progress_renews_in_progress_mode_only(call: str) -> None:
    """In mode "emit" the time counts from track, whatever work is done."""
    for mode, due in (("emit", 2), ("progress", 3)):
        acker = Acker(buckets=2, timeout_mode=mode)  # type: ignore[arg-type]
        acker.track(7, 1, "id", 0b1)
        ends = []
        for tick in range(1, 4):
            ends += [tick for _ in acker.tick()]
            if tick == 1:
                getattr(acker, call)(7, 0b10)
        assert ends == [due]


@pytest.mark.parametrize("mode", ["emit", "progress"])
def test_reset_timeout_renews_in_both_modes(mode: Any) -> None:
    """A tree can be kept alive for as long as it is wanted."""
    acker = Acker(timeout_mode=mode)
    acker.track(7, 1, "id", 0b1)
    for _ in range(10):
        assert acker.tick() == []
        assert acker.tick() == []
        assert acker.reset_timeout(7) is None
    assert acker.ok(7, 0b1) == acked()


def test_reset_timeout_of_an_unknown_tree_leaves_nothing() -> None:
    """There is no time to start anew before track."""
    acker = Acker()
    assert acker.reset_timeout(7) is None
    assert held(acker) == 0


def test_what_is_never_tracked_vanishes_silently() -> None:
    """An ok, an anchor and a fail with no track leave nothing once the buckets have rotated."""
    acker = Acker()
    acker.ok(1, 0b1)
    acker.anchor(2, 0b1)
    acker.fail(3)
    assert [acker.tick() for _ in range(3)] == [[], [], []]
    assert held(acker) == 0


def test_tree_over_capacity_is_nacked_at_once() -> None:
    """The spout keeps its tuple; there is room again as soon as a tree is settled."""
    acker = Acker(capacity=2)
    assert acker.track(1, 1, "a", 0b1) is None
    assert acker.track(2, 1, "b", 0b1) is None
    assert acker.track(3, 1, "c", 0b1) == nacked(NackReason("capacity"), "c")
    assert len(acker) == 2
    acker.ok(1, 0b1)
    assert acker.track(4, 1, "d", 0b1) is None


def test_tree_that_needs_no_room_is_not_refused() -> None:
    """At capacity, a tree that was done or had failed before track still ends as it should."""
    acker = Acker(capacity=1)
    acker.track(1, 1, "held", 0b1)
    acker.ok(2, 0b1)
    acker.fail(3, FAILED)
    assert acker.track(2, 1, "done", 0b1) == acked("done")
    assert acker.track(3, 1, "failed", 0b1) == nacked(FAILED, "failed")


def test_untracked_trees_take_no_capacity() -> None:
    """Only what a spout waits for counts."""
    acker = Acker(capacity=1)
    acker.ok(1, 0b1)
    acker.ok(2, 0b1)
    assert acker.track(3, 1, "id", 0b1) is None


@pytest.mark.parametrize(
    "arguments", [{"buckets": 1}, {"capacity": 0}, {"capacity": -1}, {"timeout_mode": "never"}], ids=str
)
def test_unusable_arguments_are_refused(arguments: Any) -> None:
    """The error names the argument."""
    with pytest.raises(ConfError, match=next(iter(arguments))):
        Acker(**arguments)


@pytest.mark.parametrize("late", [False, True])
def test_memory_stays_flat_without_a_tick(late: bool) -> None:
    """Between two ticks any number of trees may settle, with late calls or without; what is kept is bounded."""
    acker = Acker()
    most = 0
    for anchor in range(60_000):
        acker.track(anchor, 1, anchor, 0b1)
        if late:
            acker.fail(anchor)
        acker.ok(anchor, 0b1)
        most = max(most, held(acker)) if anchor % 100 == 0 else most
    assert most <= 3 * 1024
    for _ in range(3):
        acker.tick()
    assert held(acker) == 0


def test_recently_settled_trees_are_remembered_however_many_settle() -> None:
    """A tree settled among the last thousands is still known to be settled."""
    acker = Acker()
    for anchor in range(50_000):
        acker.track(anchor, 1, anchor, 0b1)
        acker.ok(anchor, 0b1)
    for anchor in range(50_000 - 2 * 1024, 50_000):
        assert acker.track(anchor, 1, anchor) is None
        assert acker.ok(anchor, 0) is None
    assert len(acker) == 0
