"""What can be wrong with one spout or bolt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fsshelter_py.build.annotations import fits, taken_by
from fsshelter_py.build.callables import (
    accepts,
    is_async,
    is_async_generator_function,
    is_coroutine_function,
    is_generator_function,
    spelled,
    user_functions,
)
from fsshelter_py.conf import Conf
from fsshelter_py.model.component import Bolt, BoltKind, Spout, SpoutKind
from fsshelter_py.model.outcome import Tick
from fsshelter_py.model.topology import Topology

__all__ = ["component_problems"]

_CONSUME = {
    BoltKind.RUN: ("tuple", "emit"),
    BoltKind.TERMINATOR: ("tuple", "emit"),
    BoltKind.BATCHED: ("tuples", "emit"),
    BoltKind.MANUAL: ("delivery", "collector"),
}
_OTHERS = {
    "next": ("args",),
    "items": ("ctx",),
    "make_args": ("ctx",),
    "make_acker": ("args",),
    "deactivate": ("args",),
}
_RUN_AT_ONCE = {
    "make_args": "it runs once, before the task does",
    "make_acker": "it runs once, before the task does; the handlers it returns may be coroutine functions",
    "items": "its iterable is read a tuple at a time; for an async source use Spout.run_reliable with an async next",
}


def component_problems(component: Spout | Bolt, topology: Topology, *, reached: bool = True) -> Iterator[str]:
    """The problems of a component as it is declared; ``reached`` is whether any stream leads to it."""
    yield from _count_problems(component)
    for role, function in user_functions(component).items():
        yield from _function_problems(component, role, function)
    wrong_options = Conf.problems(component.conf)
    yield from wrong_options
    if isinstance(component, Spout):
        if component.kind is SpoutKind.REPLAYING:
            yield from _replaying_problems(component)
        return
    if component.kind is BoltKind.BATCHED:
        if not _is_count(component.max_size):
            yield f"max_size is {component.max_size!r}: expected a whole number, 1 or more"
        if not _is_seconds(component.max_wait) or component.max_wait == 0:
            yield f"max_wait is {component.max_wait!r}: expected seconds, more than 0"
    conf = None
    if not wrong_options and not Conf.problems(topology.options) and not Conf.problems(topology.forced):
        conf = Conf.of(topology.options, component.conf, topology.forced)
    ticks = conf is not None and conf.tick_tuple_freq_secs is not None
    yield from _input_problems(component, ticks=ticks, reached=reached)


def _count_problems(component: Spout | Bolt) -> Iterator[str]:
    counts = {"parallelism": component.parallelism, "concurrency": component.concurrency}
    if component.executors is not None:
        counts["executors"] = component.executors
    wrong = [name for name, count in counts.items() if not _is_count(count)]
    for name in wrong:
        yield f"{name} is {counts[name]!r}: expected a whole number, 1 or more"
    if wrong:
        return
    if component.executors is not None and component.executors > component.parallelism:
        yield (
            f"{component.executors} executors for {component.parallelism} tasks: an executor without a task does "
            f"nothing; raise .with_parallelism({component.executors}) or lower .with_executors"
        )
    if component.concurrency > 1 and not is_async(component):
        yield (
            f"concurrency {component.concurrency} is for coroutines, and none of its functions is one: "
            "write it with `async def`, or use .with_parallelism for blocking code"
        )


def _function_problems(component: Spout | Bolt, role: str, function: Any) -> Iterator[str]:
    if not callable(function):
        yield f"{role} is {function!r}: expected a function"
        return
    parameters = _OTHERS.get(role) or _CONSUME[component.kind]  # type: ignore[index]
    if role == "deactivate" and isinstance(component, Bolt) and component.make_args is None:
        yield f"deactivate {spelled(function)} is given what make_args makes: give make_args too"
    if role == "consume" and component.make_args is not None:
        parameters = ("args", *parameters)
    if not accepts(function, len(parameters)):
        yield (
            f"{role} {spelled(function)} cannot be called as {role}({', '.join(parameters)})"
            f"{_arity_hint(component, role, function)}"
        )
    if role in _RUN_AT_ONCE and is_coroutine_function(function):
        yield f"{role} {spelled(function)} is a coroutine function, expected a plain one: {_RUN_AT_ONCE[role]}"
    if role == "items":
        if is_async_generator_function(function):
            yield f"items {spelled(function)} is an async generator, expected a plain one: {_RUN_AT_ONCE[role]}"
    elif is_generator_function(function):
        hint = {
            "consume": "use emit(...) instead of yield",
            "next": "return one tuple a call instead of yield, or use Spout.replaying for an iterable",
        }.get(role, "return instead of yield")
        yield f"{role} {spelled(function)} is a generator function, so calling it would run nothing: {hint}"


def _arity_hint(component: Spout | Bolt, role: str, function: Any) -> str:
    if role != "consume":
        return ""
    parameters = len(_CONSUME[component.kind])  # type: ignore[index]
    if component.make_args is None and accepts(function, parameters + 1):
        return "; give make_args, which makes its first parameter"
    if component.make_args is not None and accepts(function, parameters):
        return "; add a first parameter for what make_args gives, or leave make_args out"
    return ""


def _replaying_problems(spout: Spout) -> Iterator[str]:
    if spout.max_attempts is not None and not _is_count(spout.max_attempts):
        yield f"max_attempts is {spout.max_attempts!r}: expected a whole number, 1 or more, or None for no end"
    backoff = spout.backoff
    if callable(backoff):
        if not accepts(backoff, 1):
            yield f"backoff {spelled(backoff)} cannot be called as backoff(attempts)"
    elif backoff is not None and not _is_seconds(backoff):
        yield f"backoff is {backoff!r}: expected seconds, 0 or more, or a function of the attempts so far"


def _input_problems(bolt: Bolt, *, ticks: bool, reached: bool) -> Iterator[str]:
    taken = taken_by(bolt)
    if ticks and not fits(Tick, taken):
        yield (
            f"option 'tick_tuple_freq_secs' is set, and consume {spelled(bolt.consume)} does not take a Tick: "
            "add it to the union of what it takes"
        )
    for role, value in (("activation", bolt.activation), ("deactivation", bolt.deactivation)):
        if value is not None and not fits(type(value), taken):
            yield (
                f"the {role} tuple is a {type(value).__name__}, and consume {spelled(bolt.consume)} does not take one: "
                "add it to the union of what it takes"
            )
    if not reached and not ticks and bolt.activation is None and bolt.deactivation is None:
        yield "no stream leads to it, so it would do nothing: yield one to it"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
