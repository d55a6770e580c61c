"""Objects as bytes: by value where there is no name to find them by, and exceptions with their tracebacks."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from fsshelter_py.errors import ComponentError, ConfError, SourceError
from fsshelter_py.model.outcome import NackReason
from fsshelter_py.post import pack, unpack
from fsshelter_py.post.carried_error import CarriedError


class Keyworded(Exception):
    def __init__(self, what: str, *, code: int) -> None:
        super().__init__(f"{what} ({code})")
        self.code = code


class Holding(Exception):
    """Keeps what cannot be packed."""

    def __init__(self) -> None:
        super().__init__("holding")
        self.generator = (n for n in range(3))


def raised(error: BaseException) -> BaseException:
    def deeper() -> None:
        raise error

    try:
        deeper()
    except BaseException as caught:
        return caught
    raise AssertionError


@pytest.mark.parametrize(
    "error",
    [
        ValueError("plain"),
        Keyworded("own arguments", code=3),
        ComponentError("failed", component="bolt", task_id=4),
        ConfError(["one", "two"]),
        SourceError("where"),
        OSError(2, "No such file", "name"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "reason"),
        KeyError(1),
        SystemExit(3),
        ExceptionGroup("several", [ValueError(1), KeyError(2)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exception_is_of_its_class_with_its_message_and_state(error: BaseException) -> None:
    """Also where the class cannot be called with what the exception keeps."""
    again = unpack(pack(raised(error)))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_traceback_shows_the_same_lines() -> None:
    """With the functions' names, and the source."""
    error = raised(ValueError("here"))
    before, after = (traceback.extract_tb(e.__traceback__) for e in (error, unpack(pack(error))))
    assert [(f.filename, f.name, f.lineno, f.line) for f in after] == [
        (f.filename, f.name, f.lineno, f.line) for f in before
    ]
    assert after[-1].line == "raise error"


def test_causes_and_notes_come_along() -> None:
    """Each with its traceback; a hidden context stays hidden."""
    try:
        try:
            raise KeyError("cause")
        except KeyError as cause:
            raise Keyworded("effect", code=1) from cause
    except Keyworded as caught:
        error = caught
    error.add_note("a note")
    again = unpack(pack(NackReason("failed", "bolt", 1, error))).error
    assert isinstance(again.__cause__, KeyError)
    assert again.__suppress_context__
    assert again.__notes__ == ["a note"]
    assert traceback.format_exception(again) == [
        line for line in traceback.format_exception(error) if "~" not in line or "^" not in line
    ]


def test_exceptions_that_are_each_others_context_are_packed() -> None:
    """A cycle."""
    first, second = raised(ValueError(1)), raised(ValueError(2))
    first.__context__, second.__context__ = second, first
    again = unpack(pack(first))
    assert again.__context__.__context__ is again


def test_exception_that_cannot_be_packed_is_stood_for() -> None:
    """By one whose text names its class; the traceback is the true one."""
    again = unpack(pack(raised(Holding())))
    assert isinstance(again, CarriedError)
    assert str(again).endswith("test_packing.Holding: holding")
    assert traceback.extract_tb(again.__traceback__)[-1].line == "raise error"


def test_class_made_in_a_function_is_the_same_class_again() -> None:
    """In the process it came from; a lambda keeps its file, for tracebacks."""

    @dataclass
    class Local:
        n: int

    def make(n: int) -> Local:
        return Local(n)

    again: Callable[..., Any]
    cls, again = unpack(pack((Local, make)))
    assert cls is Local
    assert type(again(1)) is Local
    assert again.__code__.co_filename == __file__


def test_class_of_main_goes_to_another_process_and_back() -> None:
    """By value there, and the same one here."""
    program = (
        "import subprocess, sys\n"
        "from dataclasses import dataclass\n"
        "from fsshelter_py.post import pack, unpack\n"
        "@dataclass\n"
        "class Mine:\n"
        "    n: int\n"
        "other = 'import sys; from fsshelter_py.post import pack, unpack;'\n"
        "other += 'sys.stdout.buffer.write(pack(unpack(sys.stdin.buffer.read())))'\n"
        "back = subprocess.run([sys.executable, '-c', other], input=pack(Mine(7)), capture_output=True, check=True)\n"
        "again = unpack(back.stdout)\n"
        "print(type(again) is Mine, again.n)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True 7\n"
