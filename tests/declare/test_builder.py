"""The builder: names from variables, parameters, and the mistakes that show while the function runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

from fsshelter_py import Bolt, Group, Shuffle, Spout, Subscription, Topology, TopologyBuilder, TopologyError, topology
from fsshelter_py.model.grouping import GroupingKind


@dataclass(frozen=True)
class Word:
    word: str


def consume(word: Any, emit: Any) -> None:
    emit(word)


def source() -> Spout:
    return Spout.replaying(lambda ctx: [Word("a")])


def problems_of(build: Callable[[], Topology]) -> tuple[str, ...]:
    with pytest.raises(TopologyError) as caught:
        build()
    return caught.value.problems


@topology("words")
def words(count: int = 1, *, last: str = "out"):  # type: ignore[no-untyped-def]
    """Words, passed on."""
    spout = source()
    first = Bolt.run(consume).with_parallelism(count)
    second = Bolt.run(consume).with_name(last)
    yield spout >> first | Shuffle.on(Word)
    yield first >> second | Group.by(Word, "word").unanchored()


def test_components_are_named_after_their_variables() -> None:
    """In the order of the variables; a name of its own wins."""
    built = words()
    assert built.name == "words"
    assert list(built.spouts) == ["spout"]
    assert list(built.bolts) == ["first", "out"]


def test_streams_carry_class_grouping_and_ends() -> None:
    """Each yielded subscription is one stream, in order."""
    first, second = words().streams
    assert (first.id, first.cls, first.source, first.target, first.anchored) == ("Word", Word, "spout", "first", True)
    assert (second.source, second.target, second.anchored) == ("first", "out", False)
    assert (second.grouping.kind, second.grouping.fields) == (GroupingKind.FIELDS, ("word",))


def test_the_builder_takes_the_functions_parameters() -> None:
    """By position or by name, with their defaults."""
    assert words(3, last="end").bolts["first"].parallelism == 3
    assert "end" in words(3, last="end").bolts
    assert list(words.parameters.parameters) == ["count", "last"]
    assert words.parameters.parameters["count"].default == 1


def test_the_builder_stands_for_its_function() -> None:
    """Name, module and docstring are the function's, so that tools find them."""
    assert isinstance(words, TopologyBuilder)
    assert (words.name, words.doc) == ("words", "Words, passed on.")
    assert words.__name__ == "words"  # type: ignore[attr-defined]
    assert words.__module__ == __name__
    assert inspect.unwrap(words).__qualname__ == "words"
    assert "words" in repr(words)


def test_each_call_builds_anew() -> None:
    """Two topologies of one builder share no component."""
    assert words().spouts["spout"] is not words().spouts["spout"]


def test_a_part_can_be_yielded_from() -> None:
    """Its components are named after its variables, or the caller's where it hands one back."""

    def part(upstream: Spout) -> Generator[Subscription, None, Bolt]:
        middle = Bolt.run(consume)
        last = Bolt.run(consume)
        yield upstream >> middle | Shuffle.on(Word)
        yield middle >> last | Shuffle.on(Word)
        return last

    @topology("parts")
    def parts() -> Generator[Subscription, None, None]:
        spout = source()
        left = yield from part(spout)
        end = Bolt.run(consume)
        yield left >> end | Shuffle.on(Word)

    built = parts()
    assert list(built.spouts) == ["spout"]
    assert set(built.bolts) == {"middle", "left", "end"}


def test_components_in_a_list_are_named_explicitly() -> None:
    """With names of their own they need no variable."""

    @topology("listed")
    def listed():  # type: ignore[no-untyped-def]
        spout = source()
        for bolt in [Bolt.run(consume).with_name(f"b{i}") for i in range(3)]:
            yield spout >> bolt | Shuffle.on(Word)

    assert set(listed().bolts) == {"b0", "b1", "b2"}


def test_a_component_of_an_enclosing_function_may_stay_unused() -> None:
    """It is not this topology's to connect; used, it is named after the variable."""
    base = Bolt.run(consume)

    @topology("closure")
    def closure():  # type: ignore[no-untyped-def]
        spout = source()
        bolt = base.with_parallelism(2)
        yield spout >> bolt | Shuffle.on(Word)

    assert list(closure().bolts) == ["bolt"]


def test_a_component_without_a_name_is_a_problem() -> None:
    """Built inline it has no variable; the problem names its function and how to name it."""

    @topology("inline")
    def inline():  # type: ignore[no-untyped-def]
        spout = source()
        yield spout >> Bolt.run(consume) | Shuffle.on(Word)

    (problem,) = problems_of(inline)
    assert "of consume, has no name" in problem
    assert ".with_name(" in problem


def test_a_name_used_twice_is_a_problem() -> None:
    """A variable assigned again in a loop names all that it held."""

    @topology("loop")
    def loop():  # type: ignore[no-untyped-def]
        spout = source()
        for _ in range(2):
            bolt = Bolt.run(consume)
            yield spout >> bolt | Shuffle.on(Word)

    (problem,) = problems_of(loop)
    assert "two components are named 'bolt'" in problem


@pytest.mark.parametrize("name", ["", "__acker", 3])
def test_a_bad_name_is_a_problem(name: Any) -> None:
    """Names that begin with two underscores are the runtime's."""

    @topology("named")
    def named():  # type: ignore[no-untyped-def]
        spout = source()
        bolt = Bolt.run(consume).with_name(name)
        yield spout >> bolt | Shuffle.on(Word)

    (problem,) = problems_of(named)
    assert f"is named {name!r}" in problem


@pytest.mark.parametrize("late", [False, True])
def test_an_unconnected_component_is_a_problem(late: bool) -> None:
    """Also one that is assigned after the last stream."""

    @topology("loose")
    def loose():  # type: ignore[no-untyped-def]
        spout = source()
        bolt = Bolt.run(consume)
        if not late:
            spare = Bolt.run(consume)
        yield spout >> bolt | Shuffle.on(Word)
        if late:
            spare = Bolt.run(consume)  # noqa: F841

    (problem,) = problems_of(loose)
    assert problem.startswith("bolt 'spare' is not connected")


def test_a_stream_without_a_grouping_is_a_problem() -> None:
    """It is the only one reported for the components that it would join; it says in which line."""

    @topology("bare")
    def bare():  # type: ignore[no-untyped-def]
        spout = source()
        bolt = Bolt.run(consume)
        yield spout >> bolt

    (problem,) = problems_of(bare)
    line = inspect.getsourcelines(bare.__wrapped__)[1] + 4
    assert f"line {line} has no grouping" in problem
    assert "| Shuffle.on(T)" in problem


def test_yielding_another_thing_is_a_problem() -> None:
    """A topology among them is told to be combined with +."""

    @topology("odd")
    def odd():  # type: ignore[no-untyped-def]
        yield 3
        yield words()

    number, combined = problems_of(odd)
    assert "yields a int, expected" in number
    assert "first + second" in combined


def test_a_topology_without_streams_is_a_problem() -> None:
    """Nothing would run."""

    @topology("empty")
    def empty():  # type: ignore[no-untyped-def]
        yield from ()

    (problem,) = problems_of(empty)
    assert "yields no stream" in problem


def test_a_function_that_does_not_yield_is_refused() -> None:
    """At once, with what to write instead."""

    def plain() -> list[Subscription]:
        return []

    with pytest.raises(TypeError, match="yield source >> target"):
        topology("plain")(plain)


def test_a_stream_takes_nothing_but_a_grouping() -> None:
    """A grouping's class, or a tuple class, shows how a grouping is written."""
    link: Any = source() >> Bolt.run(consume)
    for other in (Shuffle, Word):
        with pytest.raises(TypeError, match=r"expects a grouping, such as Shuffle\.on\(T\)"):
            link | other


def test_a_topology_needs_a_name() -> None:
    """Forgetting it shows how to write it."""
    with pytest.raises(TypeError, match=r"@topology\('word-count'\)"):
        topology(words)  # type: ignore[arg-type]


def test_an_exception_of_the_function_is_its_own() -> None:
    """It is not a build error and keeps its type."""

    @topology("broken")
    def broken():  # type: ignore[no-untyped-def]
        yield source() >> Bolt.run(consume) | Shuffle.on(Word)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        broken()


def test_problems_of_every_stage_come_together() -> None:
    """What shows while the function runs and what validation finds are in one error, which lists each."""

    @topology("many")
    def many():  # type: ignore[no-untyped-def]
        spout = source()
        first = Bolt.run(consume).with_parallelism(0)
        second = Bolt.run(consume).with_conf(max_spout_pendin=1)
        spare = Bolt.run(consume)  # noqa: F841
        yield spout >> first | Group.by(Word, "wrod")
        yield first >> second | Shuffle.on(Word)
        yield second >> first | Shuffle.on(Word)
        yield spout >> second

    problems = problems_of(many)
    for part in ("no grouping", "'spare' is not connected", "cycle", "parallelism", "max_spout_pendin", "'wrod'"):
        assert any(part in problem for problem in problems), part
    assert len(problems) == 6
    with pytest.raises(TopologyError, match="topology 'many' has 6 problems:\n  - ") as caught:
        many()
    assert all(problem in str(caught.value) for problem in problems)
