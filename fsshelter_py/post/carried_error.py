"""An exception on its way to another process: of the same class, with its message, its causes and its traceback.

Pickle drops the traceback, and cannot make an exception again whose class takes other arguments than its message. Here
the traceback travels as places in files; the other process makes frames that stand at those places, so that whoever
prints or searches the traceback there finds the user's lines.
"""

from __future__ import annotations

import pickle
import sys
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeAlias

import cloudpickle

from fsshelter_py.errors import FsShelterError

__all__ = ["CarriedError", "carry"]

Place: TypeAlias = tuple[str, str, str, int]
"""File, name and qualified name of the function, line."""

_MOST_PLACES = 100


class CarriedError(FsShelterError):
    """Stands for an exception that cannot be made again in this process; its text names the class."""


def carry(error: BaseException) -> tuple[Any, ...]:
    """How to make the exception again elsewhere, in the form of ``__reduce__``; its causes are packed on their own."""
    links = (error.__cause__, error.__context__, error.__suppress_context__)
    return _remade, (_bytes_of(error), _places(error.__traceback__)), links, None, None, _link


def _bytes_of(error: BaseException) -> bytes:
    """As pickle has it, where that gives the same again; else its parts; else a stand-in."""
    for form in (error, _Parts(type(error), error.args, vars(error))):
        try:
            data: bytes = cloudpickle.dumps(form, protocol=5)
            again = _loaded(data)
            if type(again) is type(error) and str(again) == str(error):
                return data
        except Exception:
            continue
    text = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    return pickle.dumps(CarriedError(text), protocol=5)


class _Parts:
    """An exception whose class is not called again: it may take other arguments than it keeps."""

    def __init__(self, cls: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> None:
        self.cls = cls
        self.args_kept = args
        self.state = state

    def whole(self) -> BaseException:
        error = self.cls.__new__(self.cls, *self.args_kept)
        error.args = self.args_kept
        vars(error).update(self.state)
        return error


def _loaded(data: bytes) -> BaseException:
    found = pickle.loads(data)
    error: BaseException = found.whole() if isinstance(found, _Parts) else found
    return error


def _remade(data: bytes, places: list[Place]) -> BaseException:
    try:
        error = _loaded(data)
    except Exception as problem:
        error = CarriedError(f"an error that cannot be made again here ({type(problem).__name__}: {problem})")
    return error.with_traceback(_traceback(places))


def _link(error: BaseException, links: tuple[BaseException | None, BaseException | None, bool]) -> None:
    error.__cause__, error.__context__, error.__suppress_context__ = links


def _places(traceback: TracebackType | None) -> list[Place]:
    places: list[Place] = []
    while traceback is not None and len(places) < _MOST_PLACES:
        code = traceback.tb_frame.f_code
        places.append((code.co_filename, code.co_name, code.co_qualname, traceback.tb_lineno))
        traceback = traceback.tb_next
    return places


def _traceback(places: list[Place]) -> TracebackType | None:
    traceback = None
    for file, name, qualified, line in reversed(places):
        code = _standing.__code__.replace(co_filename=file, co_name=name, co_qualname=qualified)
        frame = FunctionType(code, {"sys": sys, "__name__": name})()
        traceback = TracebackType(traceback, frame, -1, line)  # -1: no instruction, so no columns are shown
    return traceback


def _standing() -> FrameType:
    return sys._getframe()
