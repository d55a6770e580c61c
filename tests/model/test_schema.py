"""What counts as a tuple class, what its stream and its fields are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, Never, Protocol, TypeVar, Union

import attrs
import msgspec
import pytest

from fsshelter_py import stream
from fsshelter_py.model.schema import annotations_of, classes_of, fields_of, is_tuple_class, stream_id

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Inner:
    a: int
    b: str


@dataclass(frozen=True, slots=True)
class Data:
    kind: ClassVar[str] = "x"
    n: int
    inner: Inner


class Named(NamedTuple):
    n: int
    inner: Inner


@attrs.frozen
class Attrs:
    n: int
    inner: Inner


class Struct(msgspec.Struct, frozen=True):
    n: int
    inner: Inner


@dataclass(frozen=True)
class Deep:
    outer: Data


@dataclass(frozen=True)
class Boxed(Generic[V]):
    value: V


class Shape(Protocol):
    n: int


KINDS = [Data, Named, Attrs, Struct]


@pytest.mark.parametrize("cls", KINDS)
def test_every_kind_of_class_has_an_id_and_fields(cls: type[Any]) -> None:
    """Dataclass, NamedTuple, attrs class and Struct are streams alike; an inner class is flattened."""
    assert is_tuple_class(cls)
    assert stream_id(cls) == cls.__name__
    assert dict(fields_of(cls)) == {"n": int, "inner.a": int, "inner.b": str}


@pytest.mark.parametrize("other", [int, str, tuple, dict, object, None, 3, Inner(1, "x"), Shape, Data | Named])
def test_other_things_are_no_tuple_classes(other: object) -> None:
    """Plain classes, unions and instances of tuple classes are none."""
    assert not is_tuple_class(other)


def test_fields_of_a_plain_class_are_refused() -> None:
    """The error says what a tuple class is."""
    with pytest.raises(TypeError, match="dataclass, NamedTuple, attrs class or msgspec Struct"):
        fields_of(int)


def test_flattening_goes_one_level_deep() -> None:
    """A class inside an inner class stays one field."""
    assert dict(fields_of(Deep)) == {"outer.n": int, "outer.inner": Inner}


def test_a_stream_can_be_named() -> None:
    """The decorator's name is the stream's, above or below the one that makes the class."""

    @stream("above")
    @dataclass(slots=True)
    class Above:
        n: int

    @dataclass(slots=True)
    @stream("below")
    class Below:
        n: int

    @stream("struct")
    class Third(msgspec.Struct):
        n: int

    assert [stream_id(c) for c in (Above, Below, Third)] == ["above", "below", "struct"]


def test_a_subclass_does_not_inherit_the_streams_name() -> None:
    """It is another stream."""

    @stream("base")
    @dataclass
    class Base:
        n: int

    @dataclass
    class Derived(Base):
        m: int

    assert stream_id(Derived) == "Derived"


@pytest.mark.parametrize("name", ["", None, Data])
def test_a_stream_needs_a_name(name: Any) -> None:
    """Forgetting the parentheses, too, is an error that shows how to write it."""
    with pytest.raises(TypeError, match="@stream takes the stream's name"):
        stream(name)


def test_an_unresolvable_name_hides_no_other_field() -> None:
    """A field whose annotation cannot be resolved may hold anything; the others are known."""

    @dataclass
    class Torn:
        n: int
        lost: Nowhere  # type: ignore[name-defined]  # noqa: F821
        inner: Inner

    assert dict(fields_of(Torn)) == {"n": int, "lost": Any, "inner.a": int, "inner.b": str}


def test_annotations_of_a_function_are_resolved_one_by_one() -> None:
    """What cannot be resolved says nothing; the rest, ``None`` included, is what it is."""

    def consume(a: Data, b: list[Nowhere]) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    hints = annotations_of(consume)
    assert hints["a"] is Data
    assert hints["return"] is type(None)
    assert classes_of(hints["b"]) is None


@pytest.mark.parametrize(
    ("annotation", "classes"),
    [
        (Data, (Data,)),
        (Data | Named, (Data, Named)),
        (Union[Data, Union[Named, Attrs]], (Data, Named, Attrs)),  # noqa: UP007
        (Annotated[Data | Named, "note"], (Data, Named)),
        (Boxed[int], (Boxed,)),
        (Never, ()),
        (Any, None),
        (object, None),
        (None, None),
        (V, None),
        (Shape, None),
        (Data | None, None),
        ("Data", None),
    ],
)
def test_classes_that_an_annotation_names(annotation: Any, classes: tuple[type[Any], ...] | None) -> None:
    """Unions are opened however nested; an annotation that allows anything names none."""
    assert classes_of(annotation) == classes
