"""The end of a tuple tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.outcome import NackReason

__all__ = ["Outcome", "Settled"]

Outcome: TypeAlias = Literal["acked", "nacked"]


@dataclass(slots=True)
class Settled:
    """A source tuple that is done, for the spout task that emitted it.

    Not frozen: one is made for every source tuple, and a frozen dataclass takes three times as long to make.

    task, tuple_id: as given to ``track``.
    reason: why it was nacked; ``None`` if and only if ``outcome == "acked"``.
    """

    task: TaskId
    tuple_id: object
    outcome: Outcome
    reason: NackReason | None = None
