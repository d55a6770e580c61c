"""Every grouping against a plain rule that looks at one tuple at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.errors import GroupingError
from fsshelter_py.model.grouping import Grouping, GroupingKind
from fsshelter_py.route import Grouper, direct_index, key, make_grouper, stable_hash

Kind = GroupingKind


@dataclass(frozen=True, slots=True)
class Inner:
    id: Any


@dataclass(frozen=True, slots=True)
class Word:
    word: Any
    n: Any = 0
    inner: Any = Inner(0)


def grouper(
    kind: Kind, count: int, *, local: Collection[int] = (), offset: int = 0, tasks: Sequence[int] = (), **by: Any
) -> Grouper:
    return make_grouper(
        Grouping(kind, Word, **by),
        source="splitter",
        stream="Word",
        target="counter",
        tasks=tasks or range(10, 10 + count),
        local=local,
        offset=offset,
    )


def routed(group: Grouper, emits: Sequence[list[Word]], count: int) -> list[list[Word]]:
    """What each task gets, in order, checking what holds for every grouper."""
    received: list[list[Word]] = [[] for _ in range(count)]
    for tuples in emits:
        before = list(tuples)
        pairs = list(group(tuples))
        assert tuples == before, "the list was changed"
        assert len({index for index, _ in pairs}) == len(pairs), "an index was given twice"
        assert all(part for _, part in pairs), "a task was given nothing"
        for index, part in pairs:
            received[index] += part
    return received


def by_rule(rule: Callable[[Word], Iterable[int]], emits: Sequence[list[Word]], count: int) -> list[list[Word]]:
    received: list[list[Word]] = [[] for _ in range(count)]
    for tuple_ in (tuple_ for tuples in emits for tuple_ in tuples):
        for index in rule(tuple_):
            received[index].append(tuple_)
    return received


values = st.sampled_from([None, 0, 1, True, 1.0, 0.0, -0.0, "a", "b", b"a", ("a", 1), ("a", True), frozenset("ab")])
words = st.builds(Word, values, values, st.builds(Inner, values))
bursts = st.lists(st.lists(words, max_size=40), max_size=6)
counts = st.integers(1, 7)


@given(bursts, counts, st.integers(0, 20))
def test_shuffle_goes_round(emits: list[list[Word]], count: int, offset: int) -> None:
    """Each tuple goes to the task after the last one's, across calls, beginning with the offset."""
    turn = iter(range(offset, 10**9))
    expected = by_rule(lambda _: [next(turn) % count], emits, count)
    assert routed(grouper(Kind.SHUFFLE, count, offset=offset), emits, count) == expected


@given(st.lists(st.integers(0, 50), max_size=20), counts)
def test_shuffle_is_even(sizes: list[int], count: int) -> None:
    """At any moment the tasks' counts differ by one at most."""
    emits = [[Word("w")] * size for size in sizes]
    lengths = [len(received) for received in routed(grouper(Kind.SHUFFLE, count), emits, count)]
    assert max(lengths) - min(lengths) <= 1


@given(bursts, st.integers(2, 7), st.data())
def test_local_or_shuffle_prefers_local_tasks(emits: list[list[Word]], count: int, data: st.DataObject) -> None:
    """Tuples go round the tasks of the same executor, where there are any, else round all."""
    local = data.draw(st.sets(st.integers(0, count - 1)))
    among = sorted(local) or range(count)
    turn = iter(range(3, 10**9))
    expected = by_rule(lambda _: [among[next(turn) % len(among)]], emits, count)
    assert routed(grouper(Kind.LOCAL_OR_SHUFFLE, count, local=local, offset=3), emits, count) == expected


@pytest.mark.parametrize(
    ("by", "key_of"),
    [
        ({"fields": ("word",)}, lambda w: w.word),
        ({"fields": ("word", "n")}, lambda w: (w.word, w.n)),
        ({"fields": ("inner.id",)}, lambda w: w.inner.id),
        ({"key": lambda w: (w.n, w.word)}, lambda w: (w.n, w.word)),
    ],
    ids=["field", "fields", "nested", "function"],
)
@given(emits=bursts, count=counts)
def test_fields_go_by_the_hash_of_their_key(
    by: dict[str, Any], key_of: Callable[[Word], Any], emits: list[list[Word]], count: int
) -> None:
    """The task is the key's stable hash modulo the number of tasks."""
    expected = by_rule(lambda w: [stable_hash(key_of(w)) % count], emits, count)
    assert routed(grouper(Kind.FIELDS, count, **by), emits, count) == expected


def test_equal_keys_go_to_one_task() -> None:
    """Neither the type of a number nor the identity of a NaN splits a key, in one call or in several."""
    for equal in ([1, 1.0, True], [float("nan"), float("nan")], [0.0, -0.0], [("a", 1), ("a", True)]):
        tuples = [Word(value) for value in equal]
        together = routed(grouper(Kind.FIELDS, 16, fields=("word",)), [tuples], 16)
        alone = routed(grouper(Kind.FIELDS, 16, fields=("word",)), [[t] for t in tuples], 16)
        assert sum(map(bool, together)) == sum(map(bool, alone)) == 1


def test_cache_of_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys beyond those the cache holds are routed as before, and it never holds more."""
    monkeypatch.setattr(key, "LIMIT", 8)
    emits = [[Word(n % 30) for n in range(100)], [Word(n) for n in range(100)]]
    expected = by_rule(lambda w: [stable_hash(w.word) % 3], emits, 3)
    assert routed(grouper(Kind.FIELDS, 3, fields=("word",)), emits, 3) == expected
    placed = key.Placed(lambda hashed: hashed)
    assert [placed[n] for n in range(100)] == [stable_hash(n) for n in range(100)]
    assert len(placed) <= 8


@given(bursts, counts)
def test_all_sends_everything_to_every_task(emits: list[list[Word]], count: int) -> None:
    """Each task gets each tuple."""
    assert routed(grouper(Kind.ALL, count), emits, count) == by_rule(lambda _: range(count), emits, count)


@given(bursts, counts)
def test_global_sends_everything_to_the_lowest_task(emits: list[list[Word]], count: int) -> None:
    """The task of the lowest id gets each tuple, wherever it stands among the tasks."""
    tasks = list(range(20, 20 + count))[::-1]
    received = routed(grouper(Kind.GLOBAL, count, tasks=tasks), emits, count)
    assert received == by_rule(lambda _: [count - 1], emits, count)


@given(bursts, counts)
def test_direct_needs_a_task(emits: list[list[Word]], count: int) -> None:
    """A plain emit on a direct stream goes nowhere."""
    assert routed(grouper(Kind.DIRECT, count), emits, count) == [[]] * count


@given(bursts, st.integers(2, 9))
def test_partial_key_uses_two_tasks_a_key(emits: list[list[Word]], count: int) -> None:
    """A key goes to two tasks at most, and to the one of them that was sent less."""
    received = routed(grouper(Kind.PARTIAL_KEY, count, fields=("word",)), emits, count)
    assert Counter(w for part in received for w in part) == Counter(w for tuples in emits for w in tuples)
    for value in {w.word for tuples in emits for w in tuples}:
        shares = [sum(w.word == value for w in part) for part in received]
        assert sum(map(bool, shares)) <= 2
    assert received == routed(grouper(Kind.PARTIAL_KEY, count, fields=("word",)), emits, count)


def test_partial_key_splits_a_hot_key_evenly() -> None:
    """One key alone is shared by its two tasks half and half."""
    shares = [len(part) for part in routed(grouper(Kind.PARTIAL_KEY, 8, fields=("word",)), [[Word("the")] * 101], 8)]
    assert sorted(shares)[-3:] == [0, 50, 51]


def test_partial_key_choices_are_independent() -> None:
    """Keys that share their first task have their second ones spread over all the others."""
    first_two: dict[int, Counter[int]] = {}
    for n in range(4000):
        received = routed(grouper(Kind.PARTIAL_KEY, 5, fields=("word",)), [[Word(f"w{n:05}")] * 2], 5)
        first = stable_hash(f"w{n:05}") % 5
        second = next(index for index, part in enumerate(received) if part and index != first)
        first_two.setdefault(first, Counter())[second] += 1
    for first, seconds in first_two.items():
        assert set(seconds) == set(range(5)) - {first}
        assert max(seconds.values()) < 2 * min(seconds.values())


@given(bursts, counts, st.data())
def test_custom_goes_where_it_chooses(emits: list[list[Word]], count: int, data: st.DataObject) -> None:
    """An id, several, the same one twice, or none."""
    answers = st.one_of(
        st.integers(10, 9 + count),
        st.lists(st.integers(10, 9 + count)),
        st.lists(st.integers(10, 9 + count)).map(iter),
    )
    chosen: list[list[int]] = []

    def choose(_: Word, tasks: Sequence[int]) -> Any:
        assert list(tasks) == list(range(10, 10 + count))
        answer = data.draw(answers)
        ids = [answer] if isinstance(answer, int) else list(answer)
        chosen.append(sorted({id_ - 10 for id_ in ids}))
        return answer if isinstance(answer, int) else iter(ids)

    received = routed(grouper(Kind.CUSTOM, count, choose=choose), emits, count)
    answer = iter(chosen)
    assert received == by_rule(lambda _: next(answer), emits, count)


def failing(_: object, *__: object) -> Any:
    raise LookupError("no such word")


def exiting(_: object, *__: object) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize("kind", [Kind.FIELDS, Kind.PARTIAL_KEY])
@pytest.mark.parametrize(
    ("by", "bad", "message"),
    [
        ({"fields": ("word",)}, Word([1]), r"field 'word' of a Word is \[1\]: a list has no stable hash"),
        ({"fields": ("word", "n")}, Word(1, {}), "field 'n' of a Word is {}: a dict"),
        ({"fields": ("n", "word")}, Word(("a", [1])), r"field 'word' of a Word is \('a', \[1\]\): a list"),
        ({"fields": ("inner.id",)}, Word(1, inner=None), "field 'inner.id' failed for a Word: AttributeError"),
        ({"key": lambda w: [w]}, Word(1), "the key function of a Word is .*: a list has no stable hash"),
        ({"key": failing}, Word(1), "the key function failed for a Word: LookupError: no such word"),
        ({"key": exiting}, Word(1), "the key function failed for a Word: SystemExit: 3"),
    ],
)
@pytest.mark.parametrize("burst", [False, True])
def test_tuple_without_a_key_is_an_error(kind: Kind, by: dict[str, Any], bad: Word, message: str, burst: bool) -> None:
    """The error names the edge and the field, and keeps the exception it comes from."""
    group = grouper(kind, 2, **by)
    with pytest.raises(GroupingError, match=f"splitter >> counter on stream Word .*{message}") as caught:
        group([bad, bad] if burst else [bad])
    assert caught.value.__cause__ is not None


def test_good_tuple_before_a_bad_one_is_not_blamed() -> None:
    """The error is about the tuple that has no key."""
    group = grouper(Kind.FIELDS, 2, fields=("word",))
    with pytest.raises(GroupingError, match=r"is \[\]"):
        group([Word("good"), Word([]), Word({})])


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda w, tasks: 99, "gave 99, which is no task of the receiver; give one of 10, 11"),
        (lambda w, tasks: [10, 99], "gave 99"),
        (lambda w, tasks: None, "gave None"),
        (lambda w, tasks: "10", "gave '1'"),
        (lambda w, tasks: [[10]], "failed for a Word: TypeError"),
        (failing, "failed for a Word: LookupError: no such word"),
        (exiting, "failed for a Word: SystemExit: 3"),
    ],
)
def test_custom_choice_that_is_no_task_is_an_error(choose: Any, message: str) -> None:
    """The error names the edge, what was chosen and what could have been."""
    with pytest.raises(GroupingError, match=f"splitter >> counter on stream Word .*{message}"):
        grouper(Kind.CUSTOM, 2, choose=choose)([Word(1)])


def test_one_task_needs_no_key() -> None:
    """With one task there is nothing to choose, so keys are not even read."""
    for kind in (Kind.FIELDS, Kind.PARTIAL_KEY):
        tuples = [Word([])]
        assert list(grouper(kind, 1, fields=("word",))(tuples)) == [(0, tuples)]


@pytest.mark.parametrize(("kind", "by"), [(Kind.FIELDS, {}), (Kind.PARTIAL_KEY, {}), (Kind.CUSTOM, {})])
def test_incomplete_grouping_is_an_error(kind: Kind, by: dict[str, Any]) -> None:
    """A grouping without the key or function it needs is refused when the grouper is made."""
    with pytest.raises(GroupingError, match="splitter >> counter on stream Word"):
        grouper(kind, 2, **by)


def test_direct_index_finds_the_task() -> None:
    """The index is the task's place among the receiver's."""
    assert [direct_index((7, 5, 9), task_id) for task_id in (7, 5, 9)] == [0, 1, 2]


def test_direct_emit_to_a_strange_task_is_an_error() -> None:
    """The error names the edge, the task asked for and the tasks there are."""
    with pytest.raises(GroupingError, match=r"a >> b on stream W: 8, which is no task .* one of 7, 5, 9"):
        direct_index((7, 5, 9), 8, edge="a >> b on stream W")


PRINT_SPLIT = """
from dataclasses import dataclass
from fsshelter_py.model.grouping import Grouping, GroupingKind
from fsshelter_py.route import make_grouper

@dataclass(frozen=True)
class Word:
    word: object

keys = [None, 1, "a", "bc", b"d", 2.5, ("a", 1), frozenset("abcdef")]
for kind in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY):
    group = make_grouper(
        Grouping(kind, Word, fields=("word",)), source="a", stream="Word", target="b", tasks=range(5)
    )
    print([(index, [keys.index(t.word) for t in part]) for index, part in group([Word(k) for k in keys])])
"""


def test_split_is_the_same_in_every_process() -> None:
    """Processes with other seeds for the builtin hash send each key to the same task."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_SPLIT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
