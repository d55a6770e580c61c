"""A topology that failed for good, told in a few lines."""

from __future__ import annotations

from fsshelter_py.cli.problem import FAILED, USAGE, Problem, brief, causes, users_frame
from fsshelter_py.errors import SourceError, TopologyError, TopologyFailedError

__all__ = ["failure"]


def failure(error: TopologyFailedError) -> Problem:
    """What to tell: of an unreadable source or an unsound topology its own words alone, else what failed, why, and the
    user's line.

    Both are the user's to put right, as a usage error is, and have its exit code.
    """
    chain = list(causes(error))
    for cause in chain:
        if isinstance(cause, (SourceError, TopologyError)):
            return Problem(str(cause), exit_code=USAGE, cause=error)
    message, root = str(error), chain[-1]
    if brief(root) not in message:
        message += f"\n    {brief(root)}"
    at = users_frame(error)
    return Problem(message + (f"\n    {at}" if at else ""), exit_code=FAILED, cause=error)
