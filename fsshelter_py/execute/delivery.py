"""A delivery that is finished later: by a coroutine, with a batch, or by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsshelter_py.execute.bolt_task import BoltTask
    from fsshelter_py.execute.leg import Leg

__all__ = ["HeldDelivery"]


class HeldDelivery:
    """One tuple, the trees it belongs to and its id in their XOR.

    anchor: None (untracked), a tree, or a tuple of trees.
    fingerprint: in debug mode only, what the tuple looked like.
    is_open: not settled yet; guarded by the collector's lock where there is one, else by being the executor's.
    """

    __slots__ = ("anchor", "fingerprint", "id", "is_open", "leg", "task", "tuple")

    fingerprint: Mapping[str, Any]

    def __init__(self, task: BoltTask, leg: Leg, anchor: Any, id: int, tuple: Any) -> None:
        self.task = task
        self.leg = leg
        self.anchor = anchor
        self.id = id
        self.tuple = tuple
        self.is_open = True

    @property
    def anchors(self) -> tuple[int, ...]:
        """The trees it belongs to."""
        if self.anchor is None:
            return ()
        return self.anchor if isinstance(self.anchor, tuple) else (self.anchor,)

    @property
    def source(self) -> str:
        """The component that emitted the tuple."""
        return self.leg.source

    @property
    def stream(self) -> str:
        """The stream it came on."""
        return self.leg.stream

    def __repr__(self) -> str:
        return f"Delivery({self.tuple!r} from {self.source} on {self.stream})"
