"""Topologies as values: options in layers, other names, two as one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from fsshelter_py import Bolt, Shuffle, Spout, Topology, TopologyError, topology


@dataclass(frozen=True)
class Word:
    word: str


def consume(word: Any, emit: Any) -> None:
    pass


def source() -> Spout:
    return Spout.replaying(lambda ctx: [Word("a")])


A, B = Bolt.run(consume).with_name("a"), Bolt.run(consume).with_name("b")


@topology("one")
def one(name: str = "spout"):  # type: ignore[no-untyped-def]
    here = source().with_name(name)
    yield here >> A | Shuffle.on(Word)
    yield A >> B | Shuffle.on(Word)


@topology("two")
def two():  # type: ignore[no-untyped-def]
    other = source()
    yield other >> B | Shuffle.on(Word)


@topology("back")
def back():  # type: ignore[no-untyped-def]
    again = source()
    yield again >> B | Shuffle.on(Word)
    yield B >> A | Shuffle.on(Word)


def test_two_topologies_are_one_under_the_firsts_name() -> None:
    """The component that both have is shared; the first one's options win."""
    both = one().with_conf(max_spout_pending=1) + two().with_conf({"topology.max.spout.pending": 2}, workers=3)
    assert both.name == "one"
    assert set(both.spouts) == {"spout", "other"}
    assert set(both.bolts) == {"a", "b"}
    assert [(s.source, s.target) for s in both.streams] == [("spout", "a"), ("a", "b"), ("other", "b")]
    assert (both.conf.max_spout_pending, both.conf.workers) == (1, 3)


def test_a_topology_with_itself_is_itself() -> None:
    """No stream is doubled."""
    built = one()
    assert (built + built).streams == built.streams


def test_different_components_of_one_name_do_not_combine() -> None:
    """Each clash is named."""
    with pytest.raises(TopologyError, match="both topologies have a component 'other'"):
        one("other") + two()


def test_a_cycle_that_only_both_have_is_refused() -> None:
    """Shared components may close one."""
    with pytest.raises(TopologyError, match=r"a -> b -> a|b -> a -> b"):
        one() + back()


def test_options_are_layered() -> None:
    """A component's own win over the topology's, forced ones over both."""
    bolt = A.with_conf(max_spout_pending=2)
    built = replace(one().with_conf(max_spout_pending=1, workers=2), bolts={"a": bolt, "b": B})
    assert built.conf_of("a").max_spout_pending == 2
    assert built.conf_of("b").max_spout_pending == 1
    forced = built.with_forced_conf({"topology.max.spout.pending": 3})
    assert (forced.conf.max_spout_pending, forced.conf_of("a").max_spout_pending) == (3, 3)
    assert forced.conf_of("a").workers == 2


def test_the_last_of_one_option_by_two_names_wins() -> None:
    """A field's name and its Storm key are one option."""
    key = "topology.max.spout.pending"
    built = one().with_conf({key: 1}).with_conf(max_spout_pending=2).with_conf({key: 3})
    assert built.conf.max_spout_pending == 3
    bolt = A.with_conf({key: 1}).with_conf(max_spout_pending=2).with_conf({key: 3})
    assert replace(built, bolts={"a": bolt, "b": B}).conf_of("a").max_spout_pending == 3


def test_a_wrong_option_is_a_build_error() -> None:
    """With the nearest name."""
    with pytest.raises(TopologyError, match="did you mean 'max_spout_pending'"):
        one().with_conf(max_spout_pendin=1)


def test_a_topology_is_immutable() -> None:
    """Other names and options give another topology; its mappings cannot be written."""
    built = one()
    assert built.with_name("renamed").name == "renamed"
    assert built.name == "one"
    with pytest.raises(TypeError):
        built.bolts["c"] = B  # type: ignore[index]


def test_an_unknown_component_is_a_key_error() -> None:
    """As of any mapping."""
    built: Topology = one()
    assert built.component("a") is A
    with pytest.raises(KeyError):
        built.component("nobody")
