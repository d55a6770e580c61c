"""The parameters of a topology function, filled from ``--set key=value`` and converted by their annotations."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import BoundArguments, Parameter, Signature
from typing import Any

from fsshelter_py.cli.conversion import UnsupportedError, collects, convert, expected
from fsshelter_py.cli.problem import Problem

__all__ = ["bind", "pairs"]

_NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def pairs(option: str, settings: Iterable[str]) -> list[tuple[str, str]]:
    """The settings of a repeated ``key=value`` option. Raises ``Problem`` for one without a ``=``."""
    found: list[tuple[str, str]] = []
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise Problem(f"{option} takes key=value, got {setting!r}")
        found.append((key.strip(), value))
    return found


def bind(function: Callable[..., Any], settings: Sequence[tuple[str, str]]) -> BoundArguments:
    """The arguments to call a topology function with. Raises ``Problem`` that names everything wrong at once."""
    signature = inspect.signature(function)
    annotations = _annotations(function, signature)
    named = {name: p for name, p in signature.parameters.items() if p.kind in _NAMED}
    rest = next((p for p in signature.parameters.values() if p.kind is Parameter.VAR_KEYWORD), None)
    given: dict[str, list[str]] = {}
    for key, value in settings:
        given.setdefault(key, []).append(value)

    problems: list[str] = []
    bound = signature.bind_partial()
    others: dict[str, Any] = {}
    for key, values in given.items():
        parameter = named.get(key, rest)
        if parameter is None:
            problems.append(_unknown(key, named))
            continue
        try:
            value = _value(values, annotations[parameter.name])
        except ValueError as error:
            problems.append(f"--set {key}: {error}")
            continue
        target = bound.arguments if key in named else others
        target[key] = value
    if rest is not None and others:
        bound.arguments[rest.name] = others
    problems += [
        f"parameter {name!r} ({expected(annotations[name])}) has no default: give --set {name}=..."
        for name, p in named.items()
        if p.default is Parameter.empty and name not in given
    ]
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise Problem(f"the topology's parameters are wrong:{listed}\n{_known(named, annotations)}")
    # Assigned in the order given; a call needs them in the order declared.
    bound.arguments = {n: bound.arguments[n] for n in signature.parameters if n in bound.arguments}
    return bound


def _value(values: list[str], annotation: Any) -> Any:
    try:
        if collects(annotation):
            return convert(values, annotation)
        if len(values) > 1:
            raise ValueError(f"given {len(values)} times, but it takes one value: {expected(annotation)}")
        return convert(values, annotation)
    except UnsupportedError as error:
        raise ValueError(f"{error}; call the topology function from a topology file of your own instead") from error


def _annotations(function: Callable[..., Any], signature: Signature) -> Mapping[str, Any]:
    """By parameter; where there is none, or none that can be resolved, the default's class, else ``str``."""
    try:
        hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception:  # whatever evaluating a user's annotation raises, such as a name imported for checkers only
        hints = {}
    return {
        name: hints.get(name, str if p.default is Parameter.empty or p.default is None else type(p.default))
        for name, p in signature.parameters.items()
    }


def _unknown(key: str, named: Mapping[str, Parameter]) -> str:
    near = difflib.get_close_matches(key, named, n=1)
    return f"--set {key}: the topology has no parameter {key!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _known(named: Mapping[str, Parameter], annotations: Mapping[str, Any]) -> str:
    if not named:
        return "it takes no parameters"
    shown = (
        f"{name}: {expected(annotations[name])}" + ("" if p.default is Parameter.empty else f" = {p.default!r}")
        for name, p in named.items()
    )
    return "it takes " + ", ".join(shown)
