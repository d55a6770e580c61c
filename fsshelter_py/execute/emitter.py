"""What user code calls to emit.

A sync bolt's emitter is the list of what it has emitted: calling it is ``list.append``, the cheapest call there is, and
the executor routes the list after the user function has returned. It is used by the executor's thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsshelter_py.errors import EmitError
from fsshelter_py.model.ids import TaskId

__all__ = ["DirectTuple", "Emitter", "OwnEmitter"]


class DirectTuple:
    """A tuple for one task, as ``emit.direct`` leaves it for the router."""

    __slots__ = ("task_id", "tuple")

    def __init__(self, task_id: TaskId, tuple: Any) -> None:
        self.task_id = task_id
        self.tuple = tuple


class Emitter(list[Any]):
    """The emitter of a sync bolt task, used for one input after the other."""

    __slots__ = ("_reset",)

    def __init__(self, reset: Callable[[], None]) -> None:
        super().__init__()
        self._reset = reset

    __call__ = list.append

    def direct(self, task_id: TaskId, tuple: Any, /) -> None:
        """Emit to one task."""
        self.append(DirectTuple(task_id, tuple))

    def reset_timeout(self) -> None:
        """Start the time of the tree being worked on anew."""
        self._reset()


class OwnEmitter(Emitter):
    """The emitter of one input, for components that work on several at once; closed when the input is done."""

    __slots__ = ("closed",)

    def __init__(self, reset: Callable[[], None]) -> None:
        super().__init__(reset)
        self.closed = False

    def __call__(self, tuple: Any, /) -> None:
        if self.closed:
            raise EmitError("emit was called after its input was done: emit before consume returns")
        self.append(tuple)

    def direct(self, task_id: TaskId, tuple: Any, /) -> None:
        """Emit to one task."""
        self(DirectTuple(task_id, tuple))
