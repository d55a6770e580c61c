"""The stand-alone tracker: as the npm package `ack` 0.1.0 does, and better where that one goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.errors import TrackingError
from fsshelter_py.tracking import AckTracker, Stamp

VECTORS: list[list[list[str]]] = json.loads((Path(__file__).parent / "data" / "ack_vectors.json").read_text())


class Recorded:
    """A tracker with the events it has raised since they were last taken."""

    def __init__(self) -> None:
        self.tracker = AckTracker()
        self.events: list[tuple[str, Any]] = []
        self.tracker.on_acked(lambda tag: self.events.append(("acked", tag)))
        self.tracker.on_failed(lambda tag: self.events.append(("failed", tag)))

    def take(self) -> list[tuple[str, Any]]:
        taken, self.events = self.events, []
        return taken

    def replay(self, method: str, tag: str, *stamps: Stamp) -> list[tuple[str, Any]] | str:
        try:
            getattr(self.tracker, method)(tag, *stamps)
        except TrackingError:
            assert self.take() == []
            return "error"
        return self.take()


def expected(tag: str, outcome: str) -> list[tuple[str, Any]] | str:
    return outcome if outcome == "error" else [(outcome, tag)] if outcome else []


@pytest.mark.parametrize("length", range(1, 17))
def test_same_events_as_the_npm_package(length: int) -> None:
    """Each recorded call raises the same event, the same error or neither. The i-th sequence is of 1 + i % 16 bytes."""
    for calls in VECTORS[length - 1 :: 16]:
        recorded = Recorded()
        for method, tag, *stamp, outcome in calls:
            stamps = [bytes.fromhex(one) for one in stamp]
            assert recorded.replay(method, tag, *stamps) == expected(tag, outcome), (calls, method, tag, stamp)


def test_ints_do_as_eight_bytes_do() -> None:
    """Recorded calls with stamps of 8 bytes raise the same events with 64-bit ints; other lengths stay bytes."""
    for calls in VECTORS[7::16]:
        recorded = Recorded()
        for method, tag, *stamp, outcome in calls:
            stamps = [int(one, 16) if len(one) == 16 else bytes.fromhex(one) for one in stamp]
            assert recorded.replay(method, tag, *stamps) == expected(tag, outcome), (calls, method, tag, stamp)


@given(st.lists(st.binary(min_size=20, max_size=20), min_size=1, max_size=20), st.data())
def test_tag_is_acked_by_the_last_of_its_stamps(stamps: list[bytes], data: st.DataObject) -> None:
    """Begun with the first stamp, all others come twice in any order, and the first once more."""
    recorded = Recorded()
    recorded.tracker.add("a", stamps[0])
    rest = data.draw(st.permutations([stamps[0], *stamps[1:], *stamps[1:]]))
    acked_at = []
    left = int.from_bytes(stamps[0])
    for position, stamp in enumerate(rest):
        recorded.tracker.stamp("a", stamp)
        left ^= int.from_bytes(stamp)
        acked_at += [position for _ in recorded.take()]
        if left == 0:
            break
    assert acked_at == [position]


def test_callbacks_are_called_in_the_order_given() -> None:
    """Each of them, a function given twice as well."""
    tracker, called = AckTracker(), list[str]()
    for name in ("first", "second", "second"):
        tracker.on_failed(lambda tag, name=name: called.append(f"{name} {tag}"))  # type: ignore[misc]
    tracker.fail("a")
    assert called == ["first a", "second a", "second a"]


def test_callback_may_track_the_tag_again() -> None:
    """The tag is forgotten before its callbacks run, and a callback added by one begins with the next event."""
    tracker, acked = AckTracker(), list[str]()

    def again(tag: str) -> None:
        tracker.add(tag, 5)
        tracker.on_acked(acked.append)

    tracker.on_acked(again)
    tracker.add("a", 1)
    tracker.stamp("a", 1)
    assert acked == []
    tracker.stamp("a", 5)
    assert acked == ["a"]


def test_error_in_a_callback_reaches_the_caller() -> None:
    """Later callbacks are not called, and the tag is forgotten all the same."""
    tracker, acked = AckTracker(), list[str]()

    def broken(tag: str) -> None:
        raise LookupError(tag)

    tracker.on_acked(broken)
    tracker.on_acked(acked.append)
    tracker.add("a", 1)
    with pytest.raises(LookupError):
        tracker.stamp("a", 1)
    assert acked == []
    tracker.add("a", 1)


def test_tags_may_be_of_different_kinds_and_lengths() -> None:
    """Only the stamps of one tag must be alike."""
    recorded = Recorded()
    stamps: dict[str, Stamp] = {"int": 5, "short": b"\x05", "long": b"\x00" * 15 + b"\x05"}
    for tag, stamp in stamps.items():
        recorded.tracker.add(tag, stamp)
    for tag, stamp in stamps.items():
        recorded.tracker.stamp(tag, stamp)
        assert recorded.take() == [("acked", tag)]


@pytest.mark.parametrize(
    ("added", "stamped", "message"),
    [
        (b"\x01", b"\x00\x01", "added with a stamp of 1 byte, got one of 2 bytes"),
        (1, b"\x00" * 7 + b"\x01", "added with a stamp of a 64-bit int, got one of 8 bytes"),
        (b"\x00" * 7 + b"\x01", 1, "added with a stamp of 8 bytes, got one of a 64-bit int"),
    ],
)
def test_stamp_unlike_the_first_is_refused(added: Stamp, stamped: Stamp, message: str) -> None:
    """The error tells both kinds, and the tag is as it was."""
    recorded = Recorded()
    recorded.tracker.add("a", added)
    with pytest.raises(TrackingError, match=message):
        recorded.tracker.stamp("a", stamped)
    recorded.tracker.stamp("a", added)
    assert recorded.take() == [("acked", "a")]


def test_tag_added_twice_is_refused() -> None:
    """The first stamp stays in force."""
    recorded = Recorded()
    recorded.tracker.add("a", 1)
    with pytest.raises(TrackingError, match="'a' is tracked already"):
        recorded.tracker.add("a", 2)
    recorded.tracker.stamp("a", 1)
    assert recorded.take() == [("acked", "a")]


@pytest.mark.parametrize("stamp", [None, "", "0101", 1.0, True, [1], 1 << 64, -(1 << 63) - 1], ids=repr)
@pytest.mark.parametrize("method", ["add", "stamp"])
@pytest.mark.parametrize("tracked", [True, False])
def test_what_is_no_stamp_is_refused(stamp: Any, method: str, tracked: bool) -> None:
    """Nothing is silently lost or folded to nonsense: the error names the tag and what a stamp is."""
    recorded = Recorded()
    if tracked:
        recorded.tracker.add("a", 1)
    with pytest.raises(TrackingError, match=r"stamp of tag 'a': expected .* 64.bit"):
        getattr(recorded.tracker, method)("a", stamp)
    recorded.tracker.stamp("a", 1)
    assert recorded.take() == ([("acked", "a")] if tracked else [])


def test_signed_and_unsigned_ints_are_one_stamp() -> None:
    """64 bits are the same stamp however their owner reads them."""
    recorded = Recorded()
    recorded.tracker.add("a", -1)
    recorded.tracker.stamp("a", (1 << 64) - 1)
    assert recorded.take() == [("acked", "a")]


@pytest.mark.parametrize("tag", ["constructor", "__proto__", "toString", 1, None, ("a", 1)], ids=repr)
def test_any_hashable_value_is_a_tag(tag: Any) -> None:
    """No name is taken from the start, and a tag is not turned into a string."""
    recorded = Recorded()
    recorded.tracker.stamp(tag, 1)
    recorded.tracker.add(tag, 1)
    recorded.tracker.stamp(str(tag) + "'", 1)
    assert recorded.take() == []
    recorded.tracker.stamp(tag, 1)
    recorded.tracker.fail(tag)
    assert recorded.take() == [("acked", tag), ("failed", tag)]


@pytest.mark.parametrize("call", [("add", 1), ("stamp", 1), ("fail",)], ids=str)
def test_unhashable_tag_is_refused(call: tuple[Any, ...]) -> None:
    """The error is one of this package's, for each method."""
    method, *stamp = call
    with pytest.raises(TrackingError, match="expected a hashable value"):
        getattr(AckTracker(), method)(["a"], *stamp)


def test_stamp_is_copied() -> None:
    """Changing a buffer after it was given away does not corrupt the tag."""
    recorded = Recorded()
    stamp = bytearray(b"\x07")
    recorded.tracker.add("a", stamp)
    stamp[0] = 1
    recorded.tracker.stamp("a", b"\x01")
    assert recorded.take() == []
    recorded.tracker.stamp("a", memoryview(b"\x06"))
    assert recorded.take() == [("acked", "a")]


def test_callback_must_be_callable() -> None:
    """It is refused when it is given, not when the first event comes."""
    for on in (AckTracker().on_acked, AckTracker().on_failed):
        with pytest.raises(TrackingError, match="expected a function of one tag"):
            on("print")  # type: ignore[arg-type]
