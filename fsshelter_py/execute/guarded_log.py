"""The logger as the runtime uses it: the user gave it, so it may fail, and a report that fails must not do harm."""

from __future__ import annotations

import sys
from typing import Any

from fsshelter_py.model.printed import printed

__all__ = ["GuardedLog"]


class GuardedLog:
    """A structlog logger whose methods never raise. Any thread may call them.

    What it could not log is told on stderr, the first time.
    """

    __slots__ = ("_has_failed", "_log")

    def __init__(self, log: Any) -> None:
        self._log = log
        self._has_failed = False

    def debug(self, event: str, **values: Any) -> None:
        self._say("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._say("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._say("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        self._say("error", event, values)

    def exception(self, event: str, **values: Any) -> None:
        """An error, with the exception being handled."""
        self._say("exception", event, values)

    def _say(self, level: str, event: str, values: dict[str, Any]) -> None:
        try:
            getattr(self._log, level)(event, **values)
        except BaseException as error:
            if not self._has_failed:
                self._has_failed = True
                self._complain(event, values, error)

    @staticmethod
    def _complain(event: str, values: dict[str, Any], error: BaseException) -> None:
        text = f"fsshelter_py: the logger raised {printed(error)} for {event} {printed(values)}\n"
        try:
            sys.stderr.write(text)
        except Exception:  # there is nobody left to tell
            return
