"""A worker process's logs: each event goes to the main process, which logs it as if it had happened there."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog

from fsshelter_py.model.ids import TaskId

__all__ = ["forwarding_log", "level_of", "log_forwarded"]


def forwarding_log(tell: Callable[..., None], task_id: TaskId, level: int) -> Any:
    """A logger whose events are told as ``tell("log", task_id, method, event)``, those below the level left out."""

    def forward(_: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        if event.get("exc_info") is True:
            event["exc_info"] = sys.exc_info()[1]
        try:
            tell("log", task_id, method, dict(event))
        except Exception:
            shown = {key: value if isinstance(value, BaseException) else repr(value) for key, value in event.items()}
            tell("log", task_id, method, shown)
        raise structlog.DropEvent

    # A logger of its own, though nothing reaches it: none would be made for stdout, which may be closed.
    nowhere, wrapper = structlog.ReturnLogger(), structlog.make_filtering_bound_logger(level)
    return structlog.wrap_logger(nowhere, processors=[forward], wrapper_class=wrapper)


def level_of(log: Any) -> int:
    """The lowest level that a logger of the user's lets through, as far as it tells."""
    ask = getattr(log, "get_effective_level", None)
    try:
        return int(ask()) if ask is not None else 0
    except Exception:
        return 0


def log_forwarded(log: Any, method: str, event: dict[str, Any]) -> None:
    """Log an event that came from a worker process."""
    text = event.pop("event", "")
    getattr(log, method, log.info)(text, **event)
