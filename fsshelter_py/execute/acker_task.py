"""The acker task: the pure acker, fed from its channel, telling spouts what was settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fsshelter_py.ack import Acker, Settled
from fsshelter_py.execute.task import Task
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.ids import ComponentId, TaskId
from fsshelter_py.model.message import AckerUpdates, ResetTimeout, Settlements, SystemTick
from fsshelter_py.model.outcome import NackReason

if TYPE_CHECKING:
    from fsshelter_py.execute.flow import Flow

__all__ = ["AckerTask"]


class AckerTask(Task):
    """One acker. ``spouts`` maps a spout's task id to how it is told."""

    __slots__ = ("_components", "_counts_from_emit", "_expire", "acker", "spouts")

    def __init__(self, context: TaskContext, components: Mapping[TaskId, ComponentId]) -> None:
        super().__init__(context)
        self.acker = Acker(timeout_mode=context.conf.timeout_mode)
        self.spouts: dict[TaskId, Callable[[Settlements], None]] = {}
        self._expire = context.conf.enable_message_timeouts
        self._counts_from_emit = self._expire and context.conf.timeout_mode == "emit"
        self._components = {task_id: (component, task_id) for task_id, component in components.items()}

    def control(self, message: Any, flow: Flow) -> None:
        match message:
            case AckerUpdates():
                self._apply(message)
            case ResetTimeout(anchor=anchor):
                self.acker.reset_timeout(anchor)
            case SystemTick():
                self._tell(self.acker.tick(expire=self._expire))
            case _:
                super().control(message, flow)

    def _apply(self, updates: AckerUpdates) -> None:
        """Take one turn's updates of an executor."""
        acker, components = self.acker, self._components
        settled: list[Settled] = []
        # Failures before what is done: of a failed tree everything may be done in the very same turn.
        for anchor, reason in updates.fails:
            if (one := acker.fail(anchor, reason)) is not None:
                settled.append(one)
        from_emit = self._counts_from_emit
        for anchor, task_id, xor, since, last in updates.tracks:
            one = acker.track(anchor, task_id, anchor, xor, since=since if from_emit else None, by=components[last])
            if one is not None:
                settled.append(one)
        touched = updates.touched
        ok = acker.ok
        for anchor, xor in updates.oks.items():
            if (one := ok(anchor, xor, by=components[touched[anchor]])) is not None:
                settled.append(one)
        self.executed += len(updates.oks)
        if settled:
            self._tell(settled)

    def _tell(self, settled: Iterable[Settled]) -> None:
        by_task: dict[TaskId, list[tuple[Any, NackReason | None]]] = defaultdict(list)
        for one in settled:
            by_task[one.task].append((one.tuple_id, one.reason))
        for task_id, settlements in by_task.items():
            self.spouts[task_id](Settlements(settlements))

    @property
    def pending(self) -> int:
        return len(self.acker)
