"""The acker against its rules as a plain reading of all that was ever said of a tree."""

from __future__ import annotations

from functools import reduce
from operator import xor as fold
from typing import Any, Literal, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fsshelter_py.ack import Acker, Settled
from fsshelter_py.model.outcome import NackReason

Mode = Literal["emit", "progress"]


class Said(NamedTuple):
    """One call about a tree, and the tick it came after."""

    tick: int
    call: str
    xor: int = 0
    of: Any = None  # track: task and tuple id; fail: the reason; anchor, ok: by whom


class Story:
    """What was said of one anchor. Nothing is folded as it comes: each question reads the whole story."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.settled_at: int | None = None

    def all_of(self, *calls: str) -> list[Said]:
        return [said for said in self.said if said.call in calls]

    @property
    def tracked(self) -> bool:
        return bool(self.all_of("track"))

    @property
    def pending(self) -> bool:
        return self.tracked and self.settled_at is None

    def outcome(self, full: bool) -> tuple[Literal["acked", "nacked"], NackReason | None] | None:
        failures = self.all_of("fail")
        if failures:
            return "nacked", failures[0].of
        if self.all_of("ok") and not reduce(fold, [said.xor for said in self.said]):
            return "acked", None
        return ("nacked", NackReason("capacity")) if full else None

    def since(self, mode: Mode) -> int:
        """The tick after which its time started."""
        if self.settled_at is not None:
            return self.settled_at
        renewing = ["track", "reset"] + (["anchor", "ok"] if mode == "progress" else [])
        return max(said.tick for said in (self.all_of(*renewing) or self.said[:1]))

    def settled(self, outcome: Literal["acked", "nacked"], reason: NackReason | None) -> Settled:
        task, tuple_id = self.all_of("track")[0].of
        return Settled(task, tuple_id, outcome, reason)


ANCHORS = st.integers(0, 3)
XORS = st.integers(0, 3)  # few, so that trees do complete
BY = st.none() | st.sampled_from([("split", 2), ("count", 3)])


class AckerMachine(RuleBasedStateMachine):
    @initialize(
        buckets=st.integers(2, 4), capacity=st.none() | st.integers(1, 3), mode=st.sampled_from(["emit", "progress"])
    )
    def make(self, buckets: int, capacity: int | None, mode: Mode) -> None:
        self.acker = Acker(buckets, capacity, mode)
        self.buckets, self.capacity, self.mode = buckets, capacity, mode
        self.stories: dict[int, Story] = {}
        self.ticks = 0

    def tell(self, anchor: int, call: str, xor: int = 0, of: Any = None) -> Settled | None:
        """Write a call down and say what it should settle."""
        story = self.stories.setdefault(anchor, Story())
        if story.settled_at is not None or (call == "track" and story.tracked):
            return None
        full = call == "track" and self.capacity is not None and self.pending() >= self.capacity
        story.said.append(Said(self.ticks, call, xor, of))
        outcome = story.outcome(full) if story.tracked else None
        if outcome is None:
            return None
        story.settled_at = self.ticks
        return story.settled(*outcome)

    def pending(self) -> int:
        return sum(story.pending for story in self.stories.values())

    @rule(anchor=ANCHORS, tuple_id=st.integers(0, 99), xor=XORS)
    def track(self, anchor: int, tuple_id: int, xor: int) -> None:
        expected = self.tell(anchor, "track", xor, (anchor, tuple_id))
        assert self.acker.track(anchor, anchor, tuple_id, xor) == expected

    @rule(anchor=ANCHORS, xor=XORS, by=BY)
    def ok(self, anchor: int, xor: int, by: tuple[str, int] | None) -> None:
        expected = self.tell(anchor, "ok", xor, by)
        assert self.acker.ok(anchor, xor, by=by) == expected

    @rule(anchor=ANCHORS, xor=XORS, by=BY)
    def anchor(self, anchor: int, xor: int, by: tuple[str, int] | None) -> None:
        expected = self.tell(anchor, "anchor", xor, by)
        assert self.acker.anchor(anchor, xor, by=by) == expected

    @rule(anchor=ANCHORS, reason=st.sampled_from([NackReason("failed"), NackReason("failed", "split", 2)]))
    def fail(self, anchor: int, reason: NackReason) -> None:
        expected = self.tell(anchor, "fail", of=reason)
        assert self.acker.fail(anchor, reason) == expected

    @rule(anchor=ANCHORS)
    def reset_timeout(self, anchor: int) -> None:
        if anchor in self.stories:
            self.tell(anchor, "reset")
        assert self.acker.reset_timeout(anchor) is None

    @rule()
    def tick(self) -> None:
        self.ticks += 1
        expected = {}
        for anchor, story in list(self.stories.items()):
            if self.ticks - story.since(self.mode) < self.buckets:
                continue
            if not story.pending:
                del self.stories[anchor]
                continue
            named = [said.of for said in story.all_of("ok", "anchor") if said.of is not None]
            story.settled_at = self.ticks
            expected[anchor] = story.settled("nacked", NackReason("timeout", *(named[-1] if named else ())))
        settled = self.acker.tick()
        assert {one.task: one for one in settled} == expected
        assert len(settled) == len(expected)

    @invariant()
    def counts_what_is_pending(self) -> None:
        assert len(self.acker) == self.pending()

    def teardown(self) -> None:
        """Whatever happened, nothing is left once the pending trees have expired and been forgotten."""
        if not hasattr(self, "acker"):
            return
        for _ in range(2 * self.buckets):
            self.acker.tick()
        assert len(self.acker) == len(self.acker._trees) == len(self.acker._settled) == 0


TestAckerMachine = AckerMachine.TestCase
TestAckerMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


@given(
    buckets=st.integers(2, 5),
    early=st.lists(st.sampled_from(["ok", "anchor", "reset_timeout", "tick"]), max_size=8),
    late=st.lists(st.sampled_from(["ok", "anchor", "tick"]), max_size=12),
)
def test_tree_expires_with_the_last_of_its_ticks(buckets: int, early: list[str], late: list[str]) -> None:
    """In mode "emit", from track on, neither sooner nor later, whatever is said of the tree before and after."""
    acker = Acker(buckets)
    bits = iter(range(1, 1000))  # a new bit each time, so that the XOR is never 0

    def say(call: str) -> list[Settled]:
        if call == "tick":
            return acker.tick()
        settled = acker.reset_timeout(7) if call == "reset_timeout" else getattr(acker, call)(7, 1 << next(bits))
        assert settled is None
        return []

    for call in early:
        say(call)
    assert acker.track(7, 1, "id", 1) is None
    ticks = 0
    for call in late + ["tick"] * buckets:
        ticks += call == "tick"
        settled = say(call)
        assert len(settled) == (call == "tick" and ticks == buckets)
