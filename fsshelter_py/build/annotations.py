"""What a component takes and emits, as far as the annotations of the user's functions say.

``None`` stands for what they do not say; nothing is ever refused for that.
"""

from __future__ import annotations

import typing
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, TypeAlias

from fsshelter_py.build.callables import accepts, hints_of, is_generator_function, positional
from fsshelter_py.model.component import Bolt, BoltKind, Spout, SpoutKind
from fsshelter_py.model.context import Collector, Delivery, Emit
from fsshelter_py.model.outcome import EndOfInput
from fsshelter_py.model.schema import classes_of, members_of

__all__ = ["Classes", "emitted_by", "fits", "taken_by"]

Classes: TypeAlias = tuple[type[Any], ...] | None


def fits(cls: type[Any], classes: Classes) -> bool:
    """Whether a tuple of that class is one of these, itself or by a base class; true where nothing is known."""
    if classes is None:
        return True
    try:
        return issubclass(cls, classes)
    except TypeError:
        return True


def taken_by(bolt: Bolt) -> Classes:
    """The classes of the tuples that the bolt's ``consume`` takes."""
    annotation = _parameter(bolt, 0)
    if bolt.kind is BoltKind.BATCHED:
        annotation = _item(annotation)
    elif bolt.kind is BoltKind.MANUAL:
        annotation = _argument(annotation, Delivery)
    return classes_of(annotation)


def emitted_by(component: Spout | Bolt) -> Classes:
    """The classes of the tuples that the component emits."""
    if isinstance(component, Bolt):
        manual = component.kind is BoltKind.MANUAL
        return classes_of(_argument(_parameter(component, 1), Collector if manual else Emit))
    if component.kind is SpoutKind.REPLAYING:
        return classes_of(_item(_returned(component.items)))
    if is_generator_function(component.next):  # an error of its own; what it would yield is beside the point
        return None
    found: dict[type[Any], None] = {}
    for member in members_of(_returned(component.next)):
        if member in (None, type(None), EndOfInput) or typing.get_origin(member) is typing.Literal:
            continue
        classes = classes_of(_second(member) if component.kind is SpoutKind.RELIABLE else member)
        if classes is None:
            return None
        found |= dict.fromkeys(classes)
    return tuple(found)


def _parameter(bolt: Bolt, place: int) -> Any:
    """The annotation of a parameter of ``consume``, counted without the args.

    A function of another shape says nothing: which parameter is which could only be guessed.
    """
    first = 0 if bolt.make_args is None else 1
    if not accepts(bolt.consume, first + 2):
        return Any
    names = positional(bolt.consume)
    place += first
    return hints_of(bolt.consume).get(names[place], Any) if place < len(names) else Any


def _returned(function: Any) -> Any:
    """The annotation of what the function gives, awaited where it has to be."""
    annotation = hints_of(function).get("return", Any)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    return args[-1] if args and origin in (Awaitable, Coroutine) else annotation


def _argument(annotation: Any, generic: Any) -> Any:
    """``X`` of ``generic[X]``."""
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is generic else Any


def _item(annotation: Any) -> Any:
    """``X`` of a collection or iterable of ``X``, of the standard kinds; others may mean anything by an argument."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    standard = getattr(origin, "__module__", None) in ("builtins", "collections", "collections.abc")
    if not args or not standard or not issubclass(origin, Iterable):
        return Any
    several = origin is tuple and len(args) > 1 and args[-1] is not Ellipsis
    return Any if several else args[0]


def _second(annotation: Any) -> Any:
    """``X`` of ``tuple[id, X]``."""
    args = typing.get_args(annotation)
    return args[1] if typing.get_origin(annotation) is tuple and len(args) == 2 and args[1] is not Ellipsis else Any
