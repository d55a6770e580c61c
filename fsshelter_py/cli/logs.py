"""structlog, set up for the command: logs go to stderr, for people or for machines. Standard logging is left alone."""

from __future__ import annotations

import enum
import logging
import os
import sys
from typing import TextIO

import structlog

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


def configure(log_format: LogFormat, level: LogLevel) -> None:
    """Set structlog up. Before the topology file is loaded, so that the file may still set it up differently."""
    if log_format.resolved(sys.stderr) is LogFormat.JSON:
        render: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    else:
        colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        render = [
            structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback),
        ]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.name)),
        logger_factory=lambda *_: _Stderr(),
        cache_logger_on_first_use=False,
    )
