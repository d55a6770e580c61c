"""The reference interpreter, on topologies small enough to know the answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from fsshelter_py.model.grouping import Grouping, GroupingKind
from fsshelter_py.model.topology import Stream
from tests.reference import FAIL, Handle, interpret, split_keys


@dataclass(frozen=True)
class A:
    n: int


@dataclass(frozen=True)
class B:
    n: int


def stream(source: str, target: str, cls: type[Any], kind: GroupingKind = GroupingKind.SHUFFLE, **by: Any) -> Stream:
    return Stream(cls.__name__, cls, source, target, Grouping(kind, cls, **by))


TASKS = {"first": (1, 2), "second": (3, 4, 5), "other": (6,)}
FIRST, SECOND = stream("spout", "first", A), stream("first", "second", B)


def to_bs(a: A) -> list[B]:
    return [B(n) for n in range(a.n)]


def fail_ones(b: B) -> list[Any]:
    return [FAIL] if b.n == 1 else []


def test_tree_fails_with_any_of_its_deliveries() -> None:
    """A source tuple is acked where everything it led to was handled."""
    found = interpret([FIRST, SECOND], TASKS, {"spout": [A(0), A(1), A(2)]}, {"first": to_bs, "second": fail_ones})
    assert found.outcomes == {"spout": ["acked", "acked", "nacked"]}
    assert found.deliveries == {"first": Counter([A(0), A(1), A(2)]), "second": Counter([B(0), B(0), B(1)])}


def test_what_was_emitted_before_a_failure_is_delivered() -> None:
    """A failure takes nothing back, and nothing comes after it."""
    found = interpret(
        [FIRST, SECOND], TASKS, {"spout": [A(7)]}, {"first": lambda a: [B(2), FAIL, B(3)], "second": fail_ones}
    )
    assert found.outcomes == {"spout": ["nacked"]}
    assert found.deliveries["second"] == Counter([B(2)])


def test_unanchored_stream_cuts_what_its_receiver_emits() -> None:
    """The delivery itself is in the tree; what is emitted while it is handled, and all that follows, is not."""
    cut = replace(FIRST, grouping=FIRST.grouping.unanchored())
    bolts: dict[str, Handle] = {"first": to_bs, "second": fail_ones}
    assert interpret([cut, SECOND], TASKS, {"spout": [A(2)]}, bolts).outcomes == {"spout": ["acked"]}
    failing: dict[str, Handle] = {"first": lambda _: [FAIL], "second": fail_ones}
    assert interpret([cut, SECOND], TASKS, {"spout": [A(2)]}, failing).outcomes == {"spout": ["nacked"]}
    last = replace(SECOND, grouping=SECOND.grouping.unanchored())
    assert interpret([FIRST, last], TASKS, {"spout": [A(2)]}, bolts).outcomes == {"spout": ["nacked"]}


def test_copies_follow_the_grouping() -> None:
    """All counts once a task, a custom choice once a task chosen, a plain emit on a direct stream not at all."""
    for kind, by, copies in (
        (GroupingKind.ALL, {}, 3),
        (GroupingKind.DIRECT, {}, 0),
        (GroupingKind.CUSTOM, {"choose": lambda t, tasks: (tasks[0], tasks[2], tasks[0])}, 2),
        (GroupingKind.CUSTOM, {"choose": lambda t, tasks: tasks[1]}, 1),
        (GroupingKind.FIELDS, {"fields": ("n",)}, 1),
    ):
        streams = [stream("spout", "second", B, kind, **by)]
        assert interpret(streams, TASKS, {"spout": [B(5)]}, {"second": fail_ones}).deliveries == {
            "second": Counter({B(5): copies} if copies else {})
        }


def test_every_subscriber_of_a_stream_is_delivered_to() -> None:
    """Two bolts on one stream are two deliveries; a stream that nobody subscribes is acked."""
    streams = [stream("spout", "second", B), stream("spout", "other", B)]
    bolts: dict[str, Handle] = {"second": lambda b: [], "other": fail_ones}
    found = interpret(streams, TASKS, {"spout": [B(0), B(1), A(1)]}, bolts)
    assert found.outcomes == {"spout": ["acked", "nacked", "acked"]}
    assert found.deliveries["second"] == found.deliveries["other"] == Counter([B(0), B(1)])


def test_split_key_is_found() -> None:
    """A key of a fields grouping at two tasks of a bolt is reported; other groupings may do as they like."""
    keyed = stream("spout", "second", B, GroupingKind.FIELDS, fields=("n",))
    right = [("second", "B", 3, B(1)), ("second", "B", 4, B(2)), ("first", "A", 1, A(1)), ("first", "A", 2, A(1))]
    assert split_keys([FIRST, keyed], right) == []
    assert split_keys([FIRST, keyed], [*right, ("second", "B", 5, B(1))]) == [(keyed, (1,), {3, 5})]
