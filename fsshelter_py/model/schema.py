"""Tuple classes: what makes a class a stream, its id, its fields, and the classes that an annotation names.

attrs and msgspec are recognised by the marks they leave on a class, so that neither has to be installed.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fsshelter_py.model.ids import StreamId

__all__ = [
    "annotations_of",
    "classes_of",
    "field_names",
    "fields_of",
    "is_name",
    "is_tuple_class",
    "members_of",
    "stream",
    "stream_id",
]

C = TypeVar("C", bound=type[Any])

_STREAM = "__fsshelter_stream__"

Unresolved = TypeVar("Unresolved")
"""Stands for an annotation that cannot be resolved: like any type variable it says nothing about the class."""


def stream(name: StreamId) -> Callable[[C], C]:
    """Name the stream of a tuple class; without it the stream is named after the class.

    >>> @stream("words")
    ... @dataclasses.dataclass(frozen=True)
    ... class Word:
    ...     word: str
    >>> stream_id(Word)
    'words'
    """
    if not is_name(name):
        raise TypeError(f"@stream takes the stream's name, as in @stream('words'); got {name!r}")

    def mark(cls: C) -> C:
        setattr(cls, _STREAM, name)
        return cls

    return mark


def is_name(value: object) -> bool:
    """Whether it can name a stream, a component or a topology: a string that is not empty."""
    return isinstance(value, str) and value != ""


def is_tuple_class(cls: object) -> bool:
    """Whether it is a dataclass, a NamedTuple, an attrs class or a msgspec Struct."""
    return isinstance(cls, type) and (
        dataclasses.is_dataclass(cls)
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
        or hasattr(cls, "__attrs_attrs__")
        or hasattr(cls, "__struct_fields__")
    )


def stream_id(cls: type[Any]) -> StreamId:
    """The id of the class's stream: the one given by ``@stream``, else its name.

    Read from the class itself: a subclass is another stream and does not inherit the id.
    """
    name: StreamId = cls.__dict__.get(_STREAM, cls.__name__)
    return name


def fields_of(cls: type[Any]) -> Mapping[str, Any]:
    """Field names, in order, to annotations. A field that is itself a tuple class becomes its ``outer.inner`` fields.

    An annotation that cannot be resolved is given as ``Any``. Raises ``TypeError`` for another class.
    """
    flat: dict[str, Any] = {}
    for name, annotation in _own_fields(cls).items():
        origin = typing.get_origin(annotation) or annotation
        if is_tuple_class(origin):
            flat |= {f"{name}.{inner}": of for inner, of in _own_fields(origin).items()}
        else:
            flat[name] = annotation
    return types.MappingProxyType(flat)


def field_names(cls: type[Any]) -> tuple[str, ...]:
    """The names of the class's own fields, in order. Raises ``TypeError`` for another class."""
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls))
    if hasattr(cls, "__struct_fields__"):
        return tuple(cls.__struct_fields__)
    if hasattr(cls, "__attrs_attrs__"):
        return tuple(a.name for a in cls.__attrs_attrs__)
    if is_tuple_class(cls):
        return tuple(cls._fields)
    raise TypeError(f"{cls!r} is no tuple class: make it a dataclass, NamedTuple, attrs class or msgspec Struct")


def members_of(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, nested ones and named aliases opened; of anything else, itself. ``Never`` has none."""
    if annotation is typing.Never or annotation is typing.NoReturn:
        return ()
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return tuple(m for arg in typing.get_args(annotation) for m in members_of(arg))
    if origin is typing.Annotated:
        return members_of(typing.get_args(annotation)[0])
    if type(annotation).__name__ == "TypeAliasType":
        return members_of(annotation.__value__)
    return (annotation,)


def classes_of(annotation: Any) -> tuple[type[Any], ...] | None:
    """The classes that an annotation allows; ``None`` where it says nothing: ``Any``, ``object``, a type variable, …

    Base classes and plain classes are given as they are: a stream fits when its class is a subclass of one of them.
    """
    found: list[type[Any]] = []
    for member in members_of(annotation):
        cls = typing.get_origin(member) or member
        if not isinstance(cls, type) or cls in (Any, object, type(None)) or getattr(cls, "_is_protocol", False):
            return None
        found.append(cls)
    return tuple(dict.fromkeys(found))


def annotations_of(owner: Any) -> dict[str, Any]:
    """The annotations of a function or class, strings resolved; one that cannot be resolved says nothing.

    One unresolved name must not hide the others, so they are resolved one by one where it does not work for all.
    """
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except Exception:
        scope = getattr(owner, "__globals__", None) or vars(sys.modules.get(getattr(owner, "__module__", ""), typing))
        return {name: _resolve(of, scope) for name, of in _raw_annotations(owner).items()}


def _own_fields(cls: type[Any]) -> dict[str, Any]:
    hints = annotations_of(cls)
    return {name: Any if hints.get(name) is Unresolved else hints.get(name, Any) for name in field_names(cls)}


def _raw_annotations(owner: Any) -> dict[str, Any]:
    if not isinstance(owner, type):
        return dict(getattr(owner, "__annotations__", {}))
    return {k: v for base in reversed(owner.__mro__) for k, v in base.__dict__.get("__annotations__", {}).items()}


def _resolve(annotation: Any, scope: dict[str, Any]) -> Any:
    alone = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(alone, scope, include_extras=True)["it"]
    except Exception:
        return Unresolved
