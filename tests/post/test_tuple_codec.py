"""Tuples of one stream, packed by column and made again."""

from __future__ import annotations

import threading
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.post.tuple_codec import TupleCodec, _is_made_of_its_fields

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plain:
    a: Any
    b: Any = None


@dataclass
class Mutable:
    a: Any
    b: Any = None


class Named(NamedTuple):
    a: Any
    b: Any = None


Old = namedtuple("Old", "a b")


@attrs.frozen
class Attrs:
    a: Any
    b: Any = None


class Struct(msgspec.Struct):
    a: Any
    b: Any = None


@dataclass
class Checked:
    a: Any
    b: Any = None

    def __post_init__(self) -> None:
        self.a = f"{self.a}!"


@dataclass
class Derived:
    a: Any
    b: Any = field(init=False, default=None)


@dataclass
class KeywordOnly:
    a: Any
    b: Any = field(kw_only=True, default=None)


@dataclass
class OwnInit:
    a: Any
    b: Any

    def __init__(self, a: Any, b: Any = None) -> None:
        self.a, self.b = a, (b, "made")


@dataclass
class OwnState:
    a: Any
    b: Any = None

    def __getstate__(self) -> Any:
        return {"a": self.a}

    def __setstate__(self, state: Any) -> None:
        self.a, self.b = state["a"], "restored"


def in_a_tuple(value: Any) -> tuple[Any]:
    return (value,)


@attrs.define
class Converted:
    a: Any = attrs.field(converter=in_a_tuple)
    b: Any = None


class HookedStruct(msgspec.Struct):
    a: Any
    b: Any = None

    def __post_init__(self) -> None:
        self.b = (self.b, "made")


@dataclass
class Made:
    a: Any
    b: Any = None

    def __new__(cls, *_: Any, **__: Any) -> Made:
        return super().__new__(cls)


@dataclass
class Empty:
    pass


@dataclass
class Typed(Generic[T]):
    a: T
    b: Any = None


PLAIN = [Plain, Mutable, Named, Old, Attrs, Struct, Typed]
WHOLE = [Checked, Derived, KeywordOnly, OwnInit, OwnState, Converted, HookedStruct, Made, Empty]


@pytest.mark.parametrize("cls", PLAIN)
def test_class_that_is_its_fields_goes_by_column(cls: Any) -> None:
    """Every kind of tuple class, as its makers leave it."""
    assert _is_made_of_its_fields(cls)


@pytest.mark.parametrize("cls", WHOLE)
def test_class_with_code_of_its_own_is_packed_whole(cls: Any) -> None:
    """Its ``__init__`` must not run a second time, and what it says of pickling is heeded."""
    assert not _is_made_of_its_fields(cls)


@pytest.mark.parametrize("cls", [*PLAIN, Checked, OwnInit, Converted, Made])
def test_tuples_are_the_same_again(cls: Any) -> None:
    """Equal, in order, and of the class."""
    tuples = [cls(n, f"text {n}") for n in range(5)]
    codec = TupleCodec(cls, edge="a >> b")
    again = codec.unpack(codec.pack(tuples))
    assert again == tuples
    assert {type(one) for one in again} == {cls}


def test_what_is_said_of_pickling_is_heeded() -> None:
    """A state that is not the fields."""
    codec = TupleCodec(OwnState, edge="a >> b")
    assert codec.unpack(codec.pack([OwnState(1, 2)])) == [OwnState(1, "restored")]


def test_tuples_without_fields_are_counted() -> None:
    """There is no column to tell how many there are."""
    codec = TupleCodec(Empty, edge="a >> b")
    assert codec.unpack(codec.pack([Empty()] * 3)) == [Empty()] * 3


def test_subclass_on_the_stream_of_its_base_stays_one() -> None:
    """Beside tuples of the base."""

    @dataclass(frozen=True)
    class More(Plain):
        c: int = 0

    codec = TupleCodec(Plain, edge="a >> b")
    tuples = [Plain(1), More(1, 2, 3)]
    assert codec.unpack(codec.pack(tuples)) == tuples


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def shape(value: Any) -> Any:
    """The value with the type of each part: 1, True and 1.0 are told apart."""
    if isinstance(value, dict):
        return dict, [(shape(k), shape(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [shape(one) for one in value]
    return type(value), value


@given(st.lists(st.tuples(values, values)))
def test_values_keep_their_types(pairs: list[tuple[Any, Any]]) -> None:
    """Of any built-in types, nested."""
    codec = TupleCodec(Plain, edge="a >> b")
    again = codec.unpack(codec.pack([Plain(a, b) for a, b in pairs])) if pairs else []
    assert [shape((one.a, one.b)) for one in again] == [shape(pair) for pair in pairs]


def test_problem_names_the_edge_the_class_and_the_field() -> None:
    """And is caused by what pickle says."""
    codec = TupleCodec(Plain, edge="first >> second on stream Plain")
    assert codec.problem(Plain(1, 2)) is None
    problem = codec.problem(Plain(1, threading.Lock()))
    assert str(problem) == (
        "first >> second on stream Plain: a Plain cannot be sent to another worker process: field 'b', TypeError: "
        "cannot pickle '_thread.lock' object; send what can be pickled, or keep both components in one process"
    )
    assert isinstance(problem.__cause__ if problem else None, TypeError)
