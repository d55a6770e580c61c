"""What can be told of a user's function before it is called: whether it is a coroutine function, its parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fsshelter_py.model.component import Bolt, Spout
from fsshelter_py.model.schema import annotations_of

__all__ = [
    "accepts",
    "hints_of",
    "is_async",
    "is_async_generator_function",
    "is_coroutine_function",
    "is_generator_function",
    "positional",
    "spelled",
    "user_functions",
]


def user_functions(component: Spout | Bolt) -> dict[str, Callable[..., Any]]:
    """The functions that the user gave the component, by the name of the parameter that took them."""
    if isinstance(component, Bolt):
        given: dict[str, Any] = {"consume": component.consume, "deactivate": component.deactivate}
    else:
        given = {name: getattr(component, name) for name in ("next", "items", "make_acker", "deactivate")}
    return {name: function for name, function in given.items() if function is not None} | (
        {} if component.make_args is None else {"make_args": component.make_args}
    )


def is_async(component: Spout | Bolt) -> bool:
    """Whether the component runs on an event loop: one of its functions is a coroutine function.

    What a bolt does when it stops is not for that.
    """
    if isinstance(component, Bolt):
        return is_coroutine_function(component.consume)
    return any(is_coroutine_function(function) for function in user_functions(component).values())


def is_coroutine_function(function: Any) -> bool:
    """Whether calling it gives a coroutine; sees through ``functools.partial``, methods and callable objects."""
    return any(inspect.iscoroutinefunction(f) for f in _definitions(function))


def is_generator_function(function: Any) -> bool:
    """Whether calling it only makes a generator, plain or async, and runs none of its body."""
    return is_async_generator_function(function) or any(inspect.isgeneratorfunction(f) for f in _definitions(function))


def is_async_generator_function(function: Any) -> bool:
    """Whether calling it makes an async generator."""
    return any(inspect.isasyncgenfunction(f) for f in _definitions(function))


def hints_of(function: Any) -> dict[str, Any]:
    """The function's resolved annotations, by parameter name and ``return``."""
    return annotations_of(_definitions(function)[-1])


def positional(function: Any) -> list[str]:
    """The names of the parameters that can be given by position; none where the signature cannot be read."""
    signature = _signature(function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in signature.parameters.items() if parameter.kind in kinds] if signature else []


def accepts(function: Any, count: int) -> bool:
    """Whether it can be called with that many arguments by position; true where the signature cannot be read."""
    signature = _signature(function)
    try:
        if signature is not None:
            signature.bind(*range(count))
    except TypeError:
        return False
    return True


def spelled(function: Any) -> str:
    """The function as an error names it."""
    definition = _definitions(function)[-1]
    return getattr(definition, "__qualname__", None) or repr(function)


def _signature(function: Any) -> inspect.Signature | None:
    """``None`` where there is none to read, as with some functions written in C."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _definitions(function: Any) -> tuple[Any, ...]:
    """The function under partials, and for a callable object also its ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return (function,)
    return (function, type(function).__call__) if callable(function) else (function,)
