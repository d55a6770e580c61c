"""Every kind of problem a topology may have, each found and told."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Never

import pytest

from fsshelter_py import (
    END,
    Bolt,
    Collector,
    Custom,
    DeadLetter,
    Delivery,
    Emit,
    EndOfInput,
    Group,
    Grouping,
    PartialKey,
    Shuffle,
    Spout,
    TaskContext,
    Tick,
    Topology,
    stream,
)
from fsshelter_py.build.validation import validate
from fsshelter_py.model.schema import is_tuple_class, stream_id
from fsshelter_py.model.topology import Stream


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Inner:
    a: int


@dataclass(frozen=True)
class Word:
    word: str
    count: int
    inner: Inner


@dataclass(frozen=True)
class LongWord(Word):
    pass


# The same without types, to declare what a type checker would refuse.
AnyBolt: Any = Bolt
AnySpout: Any = Spout
AnyGroup: Any = Group
AnyPartialKey: Any = PartialKey
AnyCustom: Any = Custom
AnyShuffle: Any = Shuffle


def anything(word: Any, emit: Any) -> None:
    pass


def split(text: Text, emit: Emit[Word]) -> None:
    pass


def keep(state: dict[str, int], word: Word, emit: Emit[Never]) -> None:
    pass


SPOUT = Spout.replaying(lambda ctx: [])


def problems(*, spout: Spout = SPOUT, bolt: Any = None, last: Any = None, by: Any = None, **options: Any) -> list[str]:
    """Of ``spout >> bolt >> last``, the first stream by ``by``, and the second, where there is a last, of Words."""
    by = by or Shuffle.on(Word)
    bolts = {"bolt": bolt or Bolt.run(anything)} | ({"last": last} if last else {})
    streams = [_stream("spout", "bolt", by)] + ([_stream("bolt", "last", Shuffle.on(Word))] if last else [])
    return validate(Topology("t", {"spout": spout}, bolts, tuple(streams), options))


def _stream(source: str, target: str, by: Grouping) -> Stream:
    return Stream(stream_id(by.cls) if is_tuple_class(by.cls) else str(by.cls), by.cls, source, target, by)


def only(found: list[str]) -> str:
    assert len(found) == 1, found
    return found[0]


class Service:
    def __init__(self, ctx: Any) -> None:
        pass

    def consume(self, text: Text, emit: Emit[Word]) -> None:
        pass

    async def __call__(self, text: Text, emit: Emit[Word]) -> None:
        pass


async def look_up(text: Text, emit: Emit[Word]) -> None:
    pass


def batch(texts: Sequence[Text], emit: Emit[Word]) -> None:
    pass


def manual(delivery: Delivery[Text], collector: Collector[Word]) -> None:
    pass


def keep_text(state: dict[str, int], text: Text, emit: Emit[Word]) -> None:
    pass


EVERY_BOLT = [
    Bolt.run(split),
    Bolt.run(look_up).with_concurrency(8),
    Bolt.run(Service(None).consume),
    Bolt.run(Service(None)).with_concurrency(2),
    Bolt.run(Service.consume, make_args=Service),
    Bolt.run(keep_text, make_args=lambda ctx: {}).with_parallelism(4).with_executors(2),
    Bolt.run(functools.partial(keep_text, {})),
    Bolt.run_terminator(split),
    Bolt.run_batched(batch, max_size=1, max_wait=0.1),
    Bolt.run_manual(manual),
    Bolt.run(split).with_conf({"my.key": 1}, debug=True),
]


@pytest.mark.parametrize("bolt", EVERY_BOLT)
def test_a_sound_bolt_has_no_problems(bolt: Bolt) -> None:
    """Of every kind; partials, methods and callable objects are functions too."""
    assert problems(bolt=bolt, by=Shuffle.on(Text), last=Bolt.run(anything)) == []


@pytest.mark.parametrize("bolt", EVERY_BOLT)
def test_what_a_bolt_takes_and_emits_is_read_from_its_annotations(bolt: Bolt) -> None:
    """Whatever its kind and shape."""
    found = validate(
        Topology(
            "t",
            {"spout": SPOUT},
            {"bolt": bolt, "last": Bolt.run(anything)},
            (_stream("spout", "bolt", Shuffle.on(Inner)), _stream("bolt", "last", Shuffle.on(Inner))),
        )
    )
    assert len(found) == 2
    assert "stream spout >> bolt on Inner: 'bolt' does not take Inner, by its annotations it takes Text" in found[0]
    assert "stream bolt >> last on Inner: 'bolt' does not emit Inner, by its annotations it emits Word" in found[1]


def _reliable(args: Any) -> tuple[int, Word] | None | EndOfInput:
    return END


async def _reliable_async(args: Any) -> tuple[int, Word] | None:
    return None


def _reliable_awaitable(args: Any) -> Awaitable[tuple[int, Word]]:
    raise NotImplementedError


def _unreliable(args: Any) -> Word | None:
    return None


def _generator(ctx: TaskContext) -> Generator[Word, None, None]:
    yield from ()


def _iterator(ctx: TaskContext) -> Iterator[Word]:
    return iter(())


def _list(ctx: TaskContext) -> list[Word]:
    return []


def _tuple(ctx: TaskContext) -> tuple[Word, ...]:
    return ()


@pytest.mark.parametrize(
    "spout",
    [
        Spout.run_reliable(_reliable),
        Spout.run_reliable(_reliable_async),
        Spout.run_reliable(_reliable_awaitable),
        Spout.run_unreliable(_unreliable),
        *(Spout.replaying(items) for items in (_generator, _iterator, _list, _tuple)),
    ],
)
def test_what_a_spout_emits_is_read_from_its_annotations(spout: Spout) -> None:
    """``None``, ``END`` and the tuple's id are no tuples; a subclass of what is annotated may be emitted too."""
    assert problems(spout=spout) == []
    assert problems(spout=spout, by=Shuffle.on(LongWord)) == []
    assert "'spout' does not emit Text, by its annotations it emits Word" in only(
        problems(spout=spout, by=Shuffle.on(Text))
    )


def _bare(args: Any) -> tuple:  # type: ignore[type-arg]
    return ()


def _own_iterable(ctx: TaskContext) -> Iterable[Any]:
    return ()


@pytest.mark.parametrize(
    "spout",
    [
        Spout.run_reliable(lambda args: None),
        Spout.run_reliable(_bare),
        Spout.run_unreliable(print),
        Spout.replaying(_own_iterable),
        Spout.replaying(lambda ctx: []),
    ],
)
def test_what_is_not_annotated_is_not_complained_of(spout: Spout) -> None:
    """Lambdas and bare types say nothing."""
    assert problems(spout=spout) == []


@pytest.mark.parametrize("by", [Group.by(Word, "wrod"), PartialKey.by(Word, "wrod")])
def test_an_unknown_field_is_told_with_the_nearest(by: Grouping) -> None:
    """And where: the stream and its ends."""
    problem = only(problems(by=by))
    assert problem == "stream spout >> bolt on Word: Word has no field 'wrod' to group by: did you mean 'word'?"


def test_an_unknown_field_without_a_near_one_lists_them() -> None:
    """All that could be meant."""
    assert "it has 'word', 'count', 'inner.a'" in only(problems(by=Group.by(Word, "zzz")))


def test_an_inner_class_is_grouped_by_its_fields() -> None:
    """It is flattened, so it is no field itself."""
    assert problems(by=Group.by(Word, "inner.a")) == []
    assert "name fields of it: 'inner.a'" in only(problems(by=Group.by(Word, "inner")))


@pytest.mark.parametrize(
    ("by", "part"),
    [
        (AnyGroup.by(Word), "Group.by has no key: name fields, as in Group.by(Word, 'field')"),
        (AnyPartialKey.by(Word, "word", key=lambda w: w), "PartialKey.by has both fields and a key function"),
        (AnyGroup.by(Word, 3), "expected the name of a field of Word, got 3"),
        (AnyGroup.by(Word, key="word"), "key is 'word': expected a function"),
        (AnyGroup.by(Word, key=lambda: 1), "cannot be called as key(tuple)"),
        (AnyCustom.on(Word, lambda t: 1), "cannot be called as choose(tuple, task_ids)"),
        (AnyCustom.on(Word, look_up), "choose look_up is a coroutine function"),
        (AnyShuffle.on(Word | Text), "got the union"),
        (AnyShuffle.on(int), "int is no tuple class: make it a dataclass"),
        (AnyShuffle.on("Word"), "got the string 'Word' for the tuple class"),
        (AnyShuffle.on(Word("a", 1, Inner(1))), "expected a tuple class, got Word("),
    ],
)
def test_a_wrong_grouping_is_told(by: Grouping, part: str) -> None:
    """With what to write instead."""
    assert part in only(problems(by=by))


def test_a_bolt_that_emits_nothing_cannot_be_subscribed() -> None:
    """``Emit[Never]`` says so."""
    bolt = Bolt.run(keep, make_args=lambda ctx: {})
    assert "by its annotations it emits nothing" in only(problems(bolt=bolt, last=Bolt.run(anything)))


def test_only_a_replaying_spout_emits_dead_letters_without_saying_so() -> None:
    """Another one must be annotated to."""
    assert problems(spout=Spout.replaying(_list), by=Shuffle.on(DeadLetter)) == []
    assert "does not emit DeadLetter" in only(problems(spout=Spout.run_reliable(_reliable), by=Shuffle.on(DeadLetter)))


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"max_spout_pendin": 1}, "unknown option 'max_spout_pendin': did you mean 'max_spout_pending'?"),
        ({"topology.max.spout.pending": "many"}, "option 'topology.max.spout.pending': expected a whole number"),
        ({"acker_tasks": -1}, "expected 0 or more"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], part: str) -> None:
    """Of the topology, or of the component that has it."""
    assert part in only(problems(**options))
    problem = only(problems(bolt=Bolt.run(anything).with_conf(options)))
    assert problem.startswith("bolt 'bolt': ")
    assert part in problem


@pytest.mark.parametrize(
    ("bolt", "part"),
    [
        (AnyBolt.run(anything).with_parallelism(0), "parallelism is 0: expected a whole number, 1 or more"),
        (AnyBolt.run(anything).with_parallelism(True), "parallelism is True"),
        (AnyBolt.run(anything).with_parallelism(1.5), "parallelism is 1.5"),
        (AnyBolt.run(anything).with_executors(0), "executors is 0"),
        (AnyBolt.run(look_up).with_concurrency(0), "concurrency is 0"),
        (AnyBolt.run(anything).with_executors(2), "2 executors for 1 tasks"),
        (AnyBolt.run(split).with_concurrency(2), "concurrency 2 is for coroutines"),
        (AnyBolt.run_batched(batch, max_size=0, max_wait=1), "max_size is 0"),
        (AnyBolt.run_batched(batch, max_size=1, max_wait=0), "max_wait is 0"),
        (AnyBolt.run_batched(batch, max_size=1, max_wait=float("nan")), "max_wait is nan"),
        (AnyBolt.run(3), "consume is 3: expected a function"),
        (AnyBolt.run(keep_text, make_args={}), "make_args is {}: expected a function"),
        (AnyBolt.run(keep_text), "cannot be called as consume(tuple, emit); give make_args"),
        (
            AnyBolt.run(split, make_args=lambda ctx: {}),
            "cannot be called as consume(args, tuple, emit); add a first parameter",
        ),
        (AnyBolt.run_manual(lambda d: None), "as consume(delivery, collector)"),
        (AnyBolt.run_batched(lambda: None, max_size=1, max_wait=1), "as consume(tuples, emit)"),
        (AnyBolt.run(keep_text, make_args=lambda: {1: 2}), "as make_args(ctx)"),
    ],
)
def test_a_wrong_bolt_is_told(bolt: Bolt, part: str) -> None:
    """The problem names the bolt and says what was expected."""
    problem = only(problems(bolt=bolt, by=Shuffle.on(Text)))
    assert problem.startswith("bolt 'bolt': ")
    assert part in problem


def test_a_generator_for_a_bolt_is_told_to_emit() -> None:
    """It would run nothing."""

    def yielding(text: Text, emit: Any) -> Iterator[Word]:
        yield Word(text.text, 1, Inner(1))

    async def yielding_async(text: Text, emit: Any) -> AsyncIterator[Word]:
        yield Word(text.text, 1, Inner(1))

    for function in (yielding, yielding_async):
        assert "use emit(...) instead of yield" in only(problems(bolt=Bolt.run(function), by=Shuffle.on(Text)))


async def make_async(ctx: Any) -> dict[str, int]:
    return {}


async def items_async(ctx: Any) -> list[Word]:
    return []


async def items_generated(ctx: Any) -> AsyncIterator[Word]:
    yield Word("", 1, Inner(1))


@pytest.mark.parametrize(
    ("spout", "part"),
    [
        (AnySpout.run_reliable(_reliable, make_args=make_async), "make_args make_async is a coroutine function"),
        (AnySpout.run_reliable(_reliable, make_acker=make_async), "make_acker make_async is a coroutine"),
        (AnySpout.replaying(items_async), "items items_async is a coroutine function"),
        (AnySpout.replaying(items_generated), "items items_generated is an async generator"),
        (AnySpout.run_unreliable(_generator), "use Spout.replaying for an iterable"),
        (AnySpout.run_reliable(lambda: None), "cannot be called as next(args)"),
        (AnySpout.run_reliable(_reliable, deactivate=lambda: None), "as deactivate(args)"),
        (AnySpout.replaying([]), "items is []: expected a function"),
        (AnySpout.replaying(_list, max_attempts=0), "max_attempts is 0"),
        (AnySpout.replaying(_list, backoff=-1), "backoff is -1: expected seconds"),
        (AnySpout.replaying(_list, backoff=lambda: 1), "as backoff(attempts)"),
        (AnySpout.replaying(_list).with_parallelism(0), "parallelism is 0"),
    ],
)
def test_a_wrong_spout_is_told(spout: Spout, part: str) -> None:
    """The problem names the spout and says what was expected."""
    problem = only(problems(spout=spout))
    assert problem.startswith("spout 'spout': ")
    assert part in problem


def test_a_function_whose_signature_cannot_be_read_is_taken() -> None:
    """Some functions written in C have none."""
    assert problems(bolt=Bolt.run(min), last=Bolt.run(anything)) == []


def takes_ticks(text: Text | Tick, emit: Emit[Word]) -> None:
    pass


def test_ticks_go_only_to_a_bolt_that_takes_them() -> None:
    """An annotation without them is a problem; none says nothing."""
    for bolt in (Bolt.run(takes_ticks), Bolt.run(anything)):
        assert problems(bolt=bolt.with_conf(tick_tuple_freq_secs=1), by=Shuffle.on(Text)) == []
    problem = only(problems(bolt=Bolt.run(split).with_conf(tick_tuple_freq_secs=1), by=Shuffle.on(Text)))
    assert "consume split does not take a Tick" in problem


@pytest.mark.parametrize("role", ["activation", "deactivation"])
def test_an_activation_tuple_must_be_one_the_bolt_takes(role: str) -> None:
    """Both of them go through consume."""
    bolt = Bolt.run(split)
    change = getattr(bolt, f"with_{role}")
    assert problems(bolt=change(Text("")), by=Shuffle.on(Text)) == []
    assert f"the {role} tuple is a Inner" in only(problems(bolt=change(Inner(1)), by=Shuffle.on(Text)))


def test_a_bolt_that_nothing_reaches_is_told() -> None:
    """Unless it has ticks or an activation to work on."""

    def lonely(bolt: Bolt) -> list[str]:
        streams = (_stream("spout", "last", Shuffle.on(Text)), _stream("bolt", "last", Shuffle.on(Text)))
        return validate(Topology("t", {"spout": SPOUT}, {"bolt": bolt, "last": Bolt.run(anything)}, streams))

    assert "bolt 'bolt': no stream leads to it" in only(lonely(Bolt.run(anything)))
    assert lonely(Bolt.run(anything).with_conf(tick_tuple_freq_secs=1)) == []
    assert lonely(Bolt.run(anything).with_activation(Text(""))) == []


def test_a_cycle_is_named() -> None:
    """From one component back to it."""
    bolts = {name: Bolt.run(anything) for name in "abc"}
    ends = [("spout", "a"), ("a", "b"), ("b", "c"), ("c", "b")]
    streams = tuple(_stream(source, target, Shuffle.on(Word)) for source, target in ends)
    problem = only(validate(Topology("t", {"spout": SPOUT}, bolts, streams)))
    assert problem.startswith(("cycle b -> c -> b:", "cycle c -> b -> c:"))


def test_a_bolt_that_feeds_itself_is_a_cycle() -> None:
    """The shortest one."""
    streams = (_stream("spout", "a", Shuffle.on(Word)), _stream("a", "a", Shuffle.on(Word)))
    problem = only(validate(Topology("t", {"spout": SPOUT}, {"a": Bolt.run(anything)}, streams)))
    assert problem.startswith("cycle a -> a:")


def test_two_classes_of_one_stream_id_are_told() -> None:
    """One of them has to be named differently."""

    @stream("Word")
    @dataclass
    class Other:
        word: str

    streams = (_stream("spout", "a", Shuffle.on(Word)), _stream("spout", "b", Shuffle.on(Other)))
    bolts = {name: Bolt.run(anything) for name in "ab"}
    problem = only(validate(Topology("t", {"spout": SPOUT}, bolts, streams)))
    assert "two classes have the stream id 'Word'" in problem
    assert "Other" in problem


@pytest.mark.parametrize("again", [Shuffle.on(Word), Group.by(Word, "word")])
def test_a_stream_subscribed_twice_is_told(again: Grouping) -> None:
    """With the same grouping or another: each tuple would be handled twice."""
    streams = (_stream("spout", "a", Shuffle.on(Word)), _stream("spout", "a", again))
    problem = only(validate(Topology("t", {"spout": SPOUT}, {"a": Bolt.run(anything)}, streams)))
    assert "'a' subscribes stream 'Word' of 'spout' more than once" in problem


def test_all_problems_come_together() -> None:
    """One of each part: the topology, a spout, a bolt, a stream."""
    found = problems(
        spout=Spout.replaying(_list, max_attempts=0),
        bolt=Bolt.run(split).with_parallelism(0),
        by=Group.by(Word, "wrod"),
        max_spout_pendin=1,
    )
    for part in ("max_spout_pendin", "max_attempts", "parallelism", "'wrod'", "does not take Word"):
        assert any(part in problem for problem in found), part
    assert len(found) == 5
