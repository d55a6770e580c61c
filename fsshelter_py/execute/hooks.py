"""What a part of a topology tells its surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.ids import ComponentId, TaskId

__all__ = ["Hooks"]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called from any of the part's threads; each must return soon.

    start_log: ``start_log(task_id)`` gives a task's logger. on_exception: nothing handles this error. on_change:
    something may have come to rest. on_started: a task has started. on_deactivated: a task has been deactivated.
    on_stop: a task asks to end the topology. on_turn: the system task's turn, every 100 ms at least.
    unresolved: by spout, what failed in earlier runs.
    """

    start_log: Callable[[TaskId], Any]
    on_exception: Callable[[BaseException], None]
    on_change: Callable[[], None]
    on_started: Callable[[], None]
    on_deactivated: Callable[[TaskId], None]
    on_stop: Callable[[], None]
    on_turn: Callable[[], None]
    unresolved: Mapping[ComponentId, Unresolved] = field(default_factory=dict)
