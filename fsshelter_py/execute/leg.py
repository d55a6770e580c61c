"""Where the tuples of one stream go, seen from one emitting task: legs, targets and outlets.

A stream from a component to another is a leg for each of the source's tasks. A leg has a target for each task of the
receiver: either a task of the same executor, which is called directly, or an outlet to another executor's channel, in
this process or another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fsshelter_py.channel import Mailbox
from fsshelter_py.model.ids import SYSTEM, ComponentId, StreamId, TaskId

if TYPE_CHECKING:
    from fsshelter_py.execute.bolt_task import BoltTask
    from fsshelter_py.execute.task import Task

__all__ = ["Leg", "Outlet", "Sink", "Target"]


class Sink(Protocol):
    """What an outlet hands its bundles to: another executor's channel, or the way to another process."""

    def offer(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> int:
        """Take bundles while there is room; returns how many. If not all, ``me`` is poked when there is more."""
        ...


class Outlet:
    """What one task has for another executor's task and could not hand over yet, in order.

    Only the executor of the emitting task touches it.
    """

    __slots__ = ("blocked", "bundles", "channel", "task")

    def __init__(self, task: Task, channel: Sink) -> None:
        self.task = task
        self.channel = channel
        self.bundles: list[tuple[Any, ...]] = []
        self.blocked = False

    def flush(self, me: Mailbox) -> bool:
        """Offer everything; False while something is left, which a poke of ``me`` will announce room for."""
        bundles = self.bundles
        taken = self.channel.offer(bundles, me)
        if taken == len(bundles):
            self.bundles = []
            return True
        if taken:
            del bundles[:taken]
        return False


class Target:
    """One receiving task of a leg: ``task`` where it is of the same executor, else ``outlet``."""

    __slots__ = ("outlet", "task")

    def __init__(self, task: BoltTask | None, outlet: Outlet | None) -> None:
        self.task = task
        self.outlet = outlet


class Leg:
    """One stream from one emitting task.

    anchored: whether what the receiver emits joins the tree. direct: whether only ``emit.direct`` sends on it.
    single: the only target, where the grouping leaves no choice. split: else, ``split(tuples)`` gives pairs of an index
    into ``targets`` and the tuples for it.
    """

    __slots__ = ("anchored", "direct", "single", "source", "split", "stream", "target_ids", "targets")

    def __init__(
        self,
        stream: StreamId,
        source: ComponentId,
        *,
        anchored: bool,
        targets: Sequence[Target] = (),
        target_ids: Sequence[TaskId] = (),
        split: Callable[[list[Any]], Iterable[tuple[int, list[Any]]]] | None = None,
        direct: bool = False,
    ) -> None:
        self.stream = stream
        self.source = source
        self.anchored = anchored
        self.targets = tuple(targets)
        self.target_ids = tuple(target_ids)
        self.split: Any = split
        self.single = self.targets[0] if split is None and targets else None
        self.direct = direct

    @staticmethod
    def of_system(stream: StreamId) -> Leg:
        """The leg that the runtime's own tuples come on."""
        return Leg(stream, SYSTEM, anchored=False)
