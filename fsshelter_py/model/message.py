"""What travels on a task's control lane. Data travels as bundles: ``(leg, anchor, id, tuples)``.

Storm calls these TaskMsg and AckerMsg. They are plain slotted records, made once a turn, not once a tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fsshelter_py.model.ids import StreamId, TaskId
from fsshelter_py.model.outcome import NackReason

__all__ = [
    "AckerUpdates",
    "Deactivate",
    "ManualOp",
    "Pause",
    "ResetTimeout",
    "Settlements",
    "Start",
    "SystemTick",
    "TupleTick",
    "Undelivered",
    "Wake",
]


@dataclass(slots=True)
class Start:
    """Make the arguments and begin; ``started`` is called when that is done."""

    started: Callable[[], None]


@dataclass(slots=True)
class Pause:
    """To a spout: ask for nothing more; acks and nacks go on."""


@dataclass(slots=True)
class Deactivate:
    """Handle what is left, deactivate; ``deactivated`` is called when that is done."""

    deactivated: Callable[[], None]


@dataclass(slots=True)
class Wake:
    """To a spout: ask it now."""


@dataclass(slots=True)
class SystemTick:
    """Half the message timeout has passed."""


@dataclass(slots=True)
class TupleTick:
    """To a bolt: a tick tuple is due, the ``number``-th."""

    number: int


@dataclass(slots=True)
class AckerUpdates:
    """To an acker, from one turn of one executor.

    tracks: (anchor, spout task, xor of the deliveries made, system ticks when it was emitted, last task it came to).
    oks: anchor to the xor of what was done and caused. fails: (anchor, reason).
    touched: anchor to the task that worked on the tree last.
    """

    tracks: list[tuple[int, TaskId, int, int, TaskId]]
    oks: dict[int, int]
    fails: list[tuple[int, NackReason]]
    touched: dict[int, TaskId]


@dataclass(slots=True)
class ResetTimeout:
    """To an acker: the tree starts its time anew."""

    anchor: int


@dataclass(slots=True)
class Settlements:
    """To a spout: (anchor, reason) of each settled tree; the reason is None for an ack."""

    settled: list[tuple[int, NackReason | None]]


@dataclass(slots=True)
class ManualOp:
    """To a manual bolt, from its collector: ``perform(flow)`` in the executor's thread."""

    perform: Callable[[Any], None]


@dataclass(slots=True)
class Undelivered:
    """To a bolt: bundles with these anchors came from another process, and could not be read: ``error``."""

    anchors: tuple[Any, ...]
    stream: StreamId
    error: BaseException
