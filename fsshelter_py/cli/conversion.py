"""Text from the command line, converted by a type annotation."""

from __future__ import annotations

import collections.abc
import enum
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NewType, Union

__all__ = ["UnsupportedError", "collects", "convert", "expected"]

_BOOLS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_MAKE: dict[Any, Callable[[Iterable[Any]], Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
}
_WORDS: dict[Any, str] = {
    str: "text",
    Any: "text",
    object: "text",
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    bool: "true or false",
    types.NoneType: "none",
}


class UnsupportedError(Exception):
    """An annotation that no text can be converted to."""


def collects(annotation: Any) -> bool:
    """Whether several values may be given."""
    annotation = _plain(annotation)
    return any(map(collects, typing.get_args(annotation))) if _is_union(annotation) else _origin(annotation) in _MAKE


def convert(values: Sequence[str], annotation: Any) -> Any:
    """The value of a parameter from what was given for it: one text, or several for a collection.

    Commas separate the items of a collection too. Raises ``ValueError`` that says what was expected and found, and
    ``UnsupportedError`` where the annotation is of a kind that text cannot give.
    """
    annotation = _plain(annotation)
    if _is_union(annotation):
        return _first_that_takes(values, annotation)
    if _origin(annotation) in _MAKE:
        return _collection(values, annotation)
    (text,) = values
    return _scalar(text, annotation)


def expected(annotation: Any) -> str:
    """What an annotation takes, in words.

    >>> expected(int | None), expected(list[float]), expected(Literal["a", "b"])
    ('a whole number or none', 'a list of numbers', "one of 'a', 'b'")
    """
    annotation = _plain(annotation)
    if _is_union(annotation):
        return " or ".join(dict.fromkeys(map(expected, typing.get_args(annotation))))
    if (origin := _origin(annotation)) in _MAKE:
        items = typing.get_args(annotation)
        if origin is tuple and items and items[-1] is not ...:
            return f"{len(items)} values with commas between: {', '.join(map(expected, items))}"
        word = expected(items[0]) if items else "text"
        return f"a list of {word.removeprefix('a ') + 's' if word.startswith('a ') else word}"
    if _origin(annotation) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return "one of " + ", ".join(annotation.__members__)
    if isinstance(annotation, type) and issubclass(annotation, PurePath):
        return "a path"
    return _WORDS.get(annotation) or str(getattr(annotation, "__name__", annotation))


def _plain(annotation: Any) -> Any:
    """The annotation without what only names or decorates it."""
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):  # `type X = ...` of Python 3.12
            annotation = annotation.__value__
        else:
            return annotation


def _origin(annotation: Any) -> Any:
    return typing.get_origin(annotation) or annotation


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (Union, types.UnionType)


def _first_that_takes(values: Sequence[str], annotation: Any) -> Any:
    """By the members in order, but text last, since it takes anything."""
    members = sorted(typing.get_args(annotation), key=lambda member: _plain(member) in (str, Any, object))
    unsupported = 0
    for member in members:
        if len(values) > 1 and not collects(member):
            continue
        try:
            return convert(values, member)
        except ValueError:
            continue
        except UnsupportedError:
            unsupported += 1
    if unsupported == len(members):
        raise UnsupportedError(f"{annotation} cannot be given as text")
    raise ValueError(f"expected {expected(annotation)}, got {', '.join(map(repr, values))}")


def _collection(values: Sequence[str], annotation: Any) -> Any:
    texts = [text for value in values if value for text in value.split(",")]
    items, origin = typing.get_args(annotation), _origin(annotation)
    if origin is tuple and items and items[-1] is not ...:
        if len(texts) != len(items):
            raise ValueError(f"expected {expected(annotation)}, got {len(texts)}: {', '.join(map(repr, texts))}")
        return tuple(convert([text], item) for text, item in zip(texts, items, strict=True))
    item = items[0] if items else str
    return _MAKE[origin](convert([text], item) for text in texts)


def _scalar(text: str, annotation: Any) -> Any:
    if annotation in (str, Any, object):
        return text
    try:
        if annotation is bool:
            return _BOOLS[text.strip().lower()]
        if annotation in (int, float, Decimal):
            return annotation(text)
        if annotation in (None, types.NoneType):
            return {"none": None, "null": None, "": None}[text.strip().lower()]
        if _origin(annotation) is Literal:
            return {str(choice): choice for choice in typing.get_args(annotation)}[text]
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return _member(text, annotation)
    except (KeyError, ValueError, ArithmeticError):
        raise ValueError(f"expected {expected(annotation)}, got {text!r}") from None
    if isinstance(annotation, type) and issubclass(annotation, PurePath):
        return Path(text) if annotation is PurePath else annotation(text)
    raise UnsupportedError(f"a parameter of type {expected(annotation)} cannot be given as text")


def _member(text: str, cls: type[enum.Enum]) -> enum.Enum:
    """By name, else by name in any case, else by the text of the value."""
    by_name = {name.lower(): member for name, member in cls.__members__.items()}
    by_value = {str(member.value): member for member in cls}
    found = cls.__members__.get(text) or by_name.get(text.lower()) or by_value.get(text)
    if found is None:
        raise ValueError
    return found
