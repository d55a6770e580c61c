"""What is told to the user instead of a traceback: a few lines that say what to do, and an exit code."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from fsshelter_py.errors import FsShelterError

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "UNREAD",
    "UNSETTLED",
    "USAGE",
    "Problem",
    "brief",
    "causes",
    "shown",
    "told",
    "users_frame",
]

FAILED = 1
USAGE = 2
UNSETTLED = 3
INTERRUPTED = 130
UNREAD = 141

_NOT_THE_USERS = (
    *(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    os.path.join(Path(__file__).parents[1], ""),
    "<",
)


class Problem(Exception):
    """Something the user can put right. ``cause`` has the traceback that ``--debug`` shows."""

    def __init__(self, message: str, *, exit_code: int = USAGE, cause: BaseException | None = None) -> None:
        self.exit_code = exit_code
        self.cause = cause
        super().__init__(message)


@contextmanager
def told(*, debug: bool) -> Iterator[None]:
    """Turn what goes wrong inside into a message on stderr and an exit code; with ``debug`` after its traceback."""
    try:
        yield
    except Problem as problem:
        if debug:
            traceback.print_exception(problem.cause or problem)
        print(f"error: {problem}", file=sys.stderr)
        raise typer.Exit(problem.exit_code) from None
    except FsShelterError as error:
        if debug:
            traceback.print_exception(error)
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        if debug:
            traceback.print_exc()
        raise typer.Exit(INTERRUPTED) from None


def brief(error: BaseException) -> str:
    """An error in one line, or as it words itself where it is this package's own."""
    if isinstance(error, FsShelterError):
        return str(error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, to the root."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__


def users_frame(error: BaseException, file: Path | None = None) -> str | None:
    """The deepest line of the user's own code in the error's traceback or its causes', as ``FILE:LINE: text``.

    That is a frame outside the standard library, the installed packages and this package; ``file`` counts as the
    user's wherever it lies.
    """
    found = None
    for cause in causes(error):
        for frame in traceback.extract_tb(cause.__traceback__):
            is_file = file is not None and Path(frame.filename) == file
            if is_file or not frame.filename.startswith(_NOT_THE_USERS):
                found = frame
    if found is None or found.lineno is None:
        return None
    text = linecache.getline(found.filename, found.lineno).strip()
    return f"{shown(Path(found.filename))}:{found.lineno}" + (f": {text}" if text else "")


def shown(path: Path) -> str:
    """A path as the user would write it: relative to the working directory where it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
