"""A topology that failed for good, told in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from fsshelter_py.cli.problem import FAILED, USAGE, Problem, brief, users_frame
from fsshelter_py.errors import SourceError, TopologyFailedError

__all__ = ["failure"]


def failure(error: TopologyFailedError) -> Problem:
    """What to tell: of an unreadable source its own words alone, else what failed, why, and the user's line.

    An unreadable source is the user's to put right, as a usage error is, and has its exit code.
    """
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, SourceError):
            return Problem(str(cause), exit_code=USAGE, cause=error)
    message = str(error)
    root = causes[-1] if causes else error
    if str(root) not in message:
        message += f"\n    {brief(root)}"
    at = users_frame(root)
    return Problem(message + (f"\n    {at}" if at else ""), exit_code=FAILED, cause=error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The chain of causes, nearest first."""
    seen = {id(error)}
    while (cause := error.__cause__ or error.__context__) is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        error = cause
