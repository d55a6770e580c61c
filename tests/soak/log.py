"""The topologies' logs: what is logged as an error must come of an injected failure."""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import Any

import structlog

from tests.soak.faults import is_injected
from tests.soak.tally import Tally

__all__ = ["Log"]

_GIVEN_UP = ("not_deactivated", "stuck_in_user_code", "stuck_in_handler")
_EXPECTED = frozenset({*_GIVEN_UP, "dead_letter", "dead_letter_lost"})
_SAID = ("died", " fails ", "told to")
"""In errors that are told of in other words: a killed thread, and what the reference interpreter knows will fail."""


class Log:
    """``start_log`` is what ``run_with`` takes."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def start_log(self, task_id: int) -> Any:
        return structlog.wrap_logger(None, processors=[self._look], wrapper_class=structlog.BoundLogger)

    def _look(self, logger: Any, method: str, event: Any) -> Any:
        error = event.get("exc_info")
        if error is True:
            error = sys.exc_info()[1]
        if event["event"] in _GIVEN_UP:
            self._tally.count(event["event"])
        if error is not None and not _is_expected(error):
            self._tally.problem(f"logged {event}:\n{''.join(traceback.format_exception(error))}")
        elif error is None and method in ("error", "critical") and event["event"] not in _EXPECTED:
            self._tally.problem(f"logged {event}")
        raise structlog.DropEvent


def _is_expected(error: BaseException) -> bool:
    if isinstance(error, asyncio.CancelledError):  # of a coroutine in flight when its topology was stopped
        return True
    return is_injected(error) or any(text in str(error) for text in _SAID) or type(error).__name__ == "TerminatedError"
