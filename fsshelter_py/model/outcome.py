"""What becomes of a source tuple, and the special tuples that speak of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from fsshelter_py.model.ids import ComponentId, TaskId
from fsshelter_py.model.printed import printed

__all__ = ["END", "DeadLetter", "EndOfInput", "NackKind", "NackReason", "Tick"]


class EndOfInput(enum.Enum):
    """The type of ``END``; an enum so that type checkers can tell it from a tuple."""

    END = "END"

    def __repr__(self) -> str:
        return "END"


END: Final = EndOfInput.END
"""Returned by a spout's ``next``: there is no more input."""

NackKind: TypeAlias = Literal["failed", "timeout", "capacity", "stopped"]


@dataclass(frozen=True, slots=True)
class NackReason:
    """Why a source tuple was nacked.

    kind: ``failed`` (a component failed it), ``timeout`` (not settled in time), ``capacity`` (the acker was full)
        or ``stopped`` (the topology was stopped or restarted first).
    component, task_id: where; for a timeout the component that last touched the tree, ``None`` where unknown.
    stream: the stream of the tuple that failed, ``None`` where there is none.
    error: the exception of the failing component, ``None`` where there is none. It keeps its traceback.
    """

    kind: NackKind
    component: ComponentId | None = None
    task_id: TaskId | None = None
    error: BaseException | None = field(default=None, compare=False)
    stream: str | None = None

    def __str__(self) -> str:
        text: str = self.kind
        if self.component is not None:
            text += f" in {self.component}" + (f" (task {self.task_id})" if self.task_id is not None else "")
        if self.stream is not None:
            text += f" on stream {self.stream}"
        if self.error is not None:
            text += f": {type(self.error).__name__}: {printed(self.error, str)}"
        return text


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A tuple that a replaying spout gave up: emitted ``attempts`` times, nacked each time, lastly for ``reason``."""

    tuple: Any
    attempts: int
    reason: NackReason


@dataclass(frozen=True, slots=True)
class Tick:
    """Handed to a bolt every ``tick_tuple_freq_secs``; never tracked.

    number: how many ticks of this bolt were due since the topology started, this one included.
    """

    number: int = 1
