"""The loggers of a topology whose host gives none."""

from __future__ import annotations

import sys
from typing import Any

import structlog

from fsshelter_py.model.ids import TaskId

__all__ = ["default_log"]


def default_log(task_id: TaskId, level: str = "warning") -> Any:
    """The program's structlog where it has configured it, else ``level`` and worse on stderr, with plain tracebacks."""
    if structlog.is_configured():
        return structlog.get_logger("fsshelter_py")
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr) if sys.stderr is not None else structlog.ReturnLogger(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr is not None and sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
    )
