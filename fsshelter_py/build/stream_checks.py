"""What can be wrong with one stream: its class, its grouping, and whether both its ends agree with it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from fsshelter_py.build.annotations import Classes, emitted_by, fits, taken_by
from fsshelter_py.build.callables import accepts, is_coroutine_function, spelled
from fsshelter_py.model.component import Bolt, Spout, SpoutKind
from fsshelter_py.model.grouping import Grouping, GroupingKind
from fsshelter_py.model.outcome import DeadLetter
from fsshelter_py.model.schema import fields_of, is_tuple_class, members_of
from fsshelter_py.model.topology import Stream, Topology

__all__ = ["stream_problems"]

_WRITTEN = {GroupingKind.FIELDS: "Group.by", GroupingKind.PARTIAL_KEY: "PartialKey.by"}


def stream_problems(stream: Stream, topology: Topology) -> Iterator[str]:
    """The problems of a stream between two components of the topology."""
    if not is_tuple_class(stream.cls):
        yield _class_problem(stream.cls)
        return
    yield from _grouping_problems(stream.grouping)
    source, target = topology.component(stream.source), topology.bolts[stream.target]
    yield from _emit_problems(stream, source)
    yield from _take_problems(stream, target)


def _class_problem(cls: Any) -> str:
    if len(members_of(cls)) > 1:
        return f"a grouping is on one class, got the union {cls}: yield a stream for each of its classes"
    if isinstance(cls, type):
        return f"{cls.__name__} is no tuple class: make it a dataclass, NamedTuple, attrs class or msgspec Struct"
    if isinstance(cls, str):
        return f"got the string {cls!r} for the tuple class: name the class itself, and fields after it"
    return f"expected a tuple class, got {cls!r}: give a dataclass, NamedTuple, attrs class or msgspec Struct"


def _grouping_problems(grouping: Grouping) -> Iterator[str]:
    written = _WRITTEN.get(grouping.kind)
    if written is not None:
        name = grouping.cls.__name__
        if grouping.fields and grouping.key is not None:
            yield f"{written} has both fields and a key function: keep one"
        elif not grouping.fields and grouping.key is None:
            yield f"{written} has no key: name fields, as in {written}({name}, 'field'), or give key=function"
        for field in grouping.fields:
            yield from _field_problems(grouping.cls, field)
        if grouping.key is not None:
            yield from _function_problems("key", grouping.key, ("tuple",))
    if grouping.kind is GroupingKind.CUSTOM:
        yield from _function_problems("choose", grouping.choose, ("tuple", "task_ids"))


def _field_problems(cls: type[Any], field: Any) -> Iterator[str]:
    fields = fields_of(cls)
    if field in fields:
        return
    if not isinstance(field, str):
        yield f"expected the name of a field of {cls.__name__}, got {field!r}: a key function is given as key=function"
        return
    inner = [name for name in fields if name.startswith(f"{field}.")]
    near = difflib.get_close_matches(field, fields, n=1)
    if inner:
        hint = f"it is a tuple class itself; name fields of it: {', '.join(map(repr, inner))}"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"it has {', '.join(map(repr, fields)) or 'no fields'}"
    yield f"{cls.__name__} has no field {field!r} to group by: {hint}"


def _function_problems(role: str, function: Any, parameters: tuple[str, ...]) -> Iterator[str]:
    if not callable(function):
        yield f"{role} is {function!r}: expected a function"
    elif is_coroutine_function(function):
        yield f"{role} {spelled(function)} is a coroutine function, expected a plain one: it runs where a tuple is sent"
    elif not accepts(function, len(parameters)):
        yield f"{role} {spelled(function)} cannot be called as {role}({', '.join(parameters)})"


def _emit_problems(stream: Stream, source: Spout | Bolt) -> Iterator[str]:
    if stream.cls is DeadLetter and isinstance(source, Spout) and source.kind is SpoutKind.REPLAYING:
        return
    emitted = emitted_by(source)
    if not fits(stream.cls, emitted):
        yield (
            f"{stream.source!r} does not emit {stream.cls.__name__}, by its annotations it emits {_listed(emitted)}: "
            "subscribe one of those, or correct the annotation"
        )


def _take_problems(stream: Stream, target: Bolt) -> Iterator[str]:
    taken = taken_by(target)
    if not fits(stream.cls, taken):
        yield (
            f"{stream.target!r} does not take {stream.cls.__name__}, by its annotations it takes {_listed(taken)}: "
            "add the class to the union of what it takes, or correct the stream"
        )


def _listed(classes: Classes) -> str:
    return ", ".join(cls.__name__ for cls in classes or ()) or "nothing"
