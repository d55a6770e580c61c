"""What user code calls to emit.

A sync bolt's emitter is a plain function that appends to a list, the cheapest call that can have ``direct`` and
``reset_timeout`` beside it; the executor routes the list after the user function has returned. It is used by the
executor's thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
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
    """The emitter of a sync bolt task, used for one input after the other, and the list that it appends to.

    Made in the executor's thread, and for it alone: what another thread emits, later on, would join the tree of
    whatever input is being handled by then.
    """
    emitted: list[Any] = []
    append = emitted.append
    owner = get_ident()

    def emit(tuple: Any, /) -> None:
        """Emit a tuple on the stream of its class."""
        if get_ident() != owner:
            raise EmitError("emit was called from another thread: emit before consume returns, or use Bolt.run_manual")
        append(tuple)

    def direct(task_id: TaskId, tuple: Any, /) -> None:
        """Emit to one task."""
        emit(DirectTuple(task_id, tuple))

    attributes: Any = emit
    attributes.direct = direct
    attributes.reset_timeout = reset
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
