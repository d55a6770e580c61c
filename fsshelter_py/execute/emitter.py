"""What user code calls to emit.

A sync bolt's emitter appends to a list, as the cheapest call that can have ``direct`` and ``reset_timeout`` beside it;
the executor routes the list after the user function has returned. Until then any thread may emit, which is all that
keeps a tuple with the input it was emitted for: what comes later, between two inputs, is reported by the executor; what
comes while another input is handled joins that one. To look at the thread of each emit would cost a tenth of a word
count; debug mode does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fsshelter_py.errors import EmitError
from fsshelter_py.model.ids import TaskId

__all__ = ["DirectTuple", "OwnEmitter", "emitter"]


class DirectTuple:
    """A tuple for one task, as ``emit.direct`` leaves it for the router."""

    __slots__ = ("task_id", "tuple")

    def __init__(self, task_id: TaskId, tuple: Any) -> None:
        self.task_id = task_id
        self.tuple = tuple


def emitter(reset: Callable[[], None]) -> tuple[Any, list[Any]]:
    """The emitter of a sync bolt task, used for one input after the other, and the list that it appends to."""
    emitted: list[Any] = []
    emit: Any = partial(emitted.append)

    def direct(task_id: TaskId, tuple: Any, /) -> None:
        """Emit to one task."""
        emit(DirectTuple(task_id, tuple))

    emit.direct = direct
    emit.reset_timeout = reset
    return emit, emitted


class OwnEmitter(list[Any]):
    """The emitter of one input, for components that work on several at once; closed when the input is done."""

    __slots__ = ("_reset", "closed")

    def __init__(self, reset: Callable[[], None]) -> None:
        super().__init__()
        self._reset = reset
        self.closed = False

    def __call__(self, tuple: Any, /) -> None:
        if self.closed:
            raise EmitError("emit was called after its input was done: emit before consume returns")
        self.append(tuple)

    def direct(self, task_id: TaskId, tuple: Any, /) -> None:
        """Emit to one task."""
        self(DirectTuple(task_id, tuple))

    def reset_timeout(self) -> None:
        """Start the time of the tree being worked on anew."""
        self._reset()
