"""structlog, set up for the command: logs go to stderr, for people or for machines. Standard logging is left alone."""

from __future__ import annotations

import enum
import logging
import os
import sys
from collections.abc import MutableMapping
from functools import partial
from typing import Any, TextIO

import structlog

from fsshelter_py.cli.problem import brief, users_frame
from fsshelter_py.errors import SourceError

__all__ = ["LogFormat", "LogLevel", "configure"]


class LogFormat(enum.StrEnum):
    """``auto``: for people on a terminal, else JSON lines."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"

    def resolved(self, stream: TextIO) -> LogFormat:
        """The format for this stream."""
        if self is not LogFormat.AUTO:
            return self
        return LogFormat.CONSOLE if stream.isatty() else LogFormat.JSON


class LogLevel(enum.StrEnum):
    """What is logged: this and worse."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class _Stderr:
    """Writes where ``sys.stderr`` points at that moment: loggers outlive the live view that stands in for it."""

    def msg(self, message: str) -> None:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()

    debug = info = warning = warn = error = critical = exception = fatal = log = msg


def _without_traceback(
    logger: object, method: str, event: MutableMapping[str, Any], only: type[BaseException] = BaseException
) -> MutableMapping[str, Any]:
    """An error of the class ``only`` in a line, with the user's line beside it."""
    given = event.get("exc_info")
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, only):
        del event["exc_info"]
        event["error"] = brief(error)
        if not isinstance(error, SourceError) and (at := users_frame(error)) is not None:
            event["at"] = at
    return event


def configure(log_format: LogFormat, level: LogLevel, *, tracebacks: bool) -> None:
    """Set structlog up. Before the topology file is loaded, so that the file may still set it up differently.

    Without ``tracebacks`` people are spared them; machines are only where they say nothing, of a source that cannot be
    read.
    """
    render: list[structlog.typing.Processor]
    if log_format.resolved(sys.stderr) is LogFormat.JSON:
        render = [
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
        if not tracebacks:
            render.insert(0, partial(_without_traceback, only=SourceError))
    else:
        colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        render = [
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=colours, pad_event_to=0, pad_level=False, exception_formatter=structlog.dev.plain_traceback
            ),
        ]
        if not tracebacks:
            render.insert(0, _without_traceback)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            *render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.name)),
        logger_factory=lambda *_: _Stderr(),
        cache_logger_on_first_use=False,
    )
