"""Making tasks: those of components from their declarations, and the runtime's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fsshelter_py.build.assignment import Assignment
from fsshelter_py.build.callables import is_async
from fsshelter_py.clock import Clock
from fsshelter_py.execute.acker_task import AckerTask
from fsshelter_py.execute.bolt_task import BoltTask, RunBolt
from fsshelter_py.execute.deferred_task import DeferredBolt
from fsshelter_py.execute.hooks import Hooks
from fsshelter_py.execute.manual_task import ManualBolt
from fsshelter_py.execute.source import ReliableSource, ReplayingSource, Source, UnreliableSource
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.system_task import SystemTask
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.component import Bolt, BoltKind, Spout, SpoutKind
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.ids import ACKER, SYSTEM, TaskId
from fsshelter_py.model.outcome import DeadLetter
from fsshelter_py.model.topology import Topology

__all__ = ["make_bolt", "make_spout", "make_task"]


def make_task(
    topology: Topology, assignment: Assignment, task_id: TaskId, hooks: Hooks, clock: Clock, wake: Callable[[], None]
) -> Task:
    """A task, by its id. wake: what ``ctx.wake()`` does."""
    plan = assignment.tasks[task_id]
    name = plan.component
    context = TaskContext(
        topology=topology.name,
        component=name,
        task_id=task_id,
        task_index=plan.index,
        task_count=plan.count,
        conf=topology.conf if name in (SYSTEM, ACKER) else topology.conf_of(name),
        log=hooks.start_log(task_id).bind(component=name, task=task_id),
        _tasks_of=assignment.tasks_of,
        _wake=wake,
        _stop=hooks.on_stop,
    )
    if name == SYSTEM:
        return SystemTask(context, clock)
    if name == ACKER:
        return AckerTask(context, {t.task_id: t.component for t in assignment.tasks.values()})
    component = topology.component(name)
    if isinstance(component, Bolt):
        return make_bolt(context, component, clock)
    unresolved = hooks.unresolved.get(name)
    if unresolved is None:
        unresolved = Unresolved(replaying=component.kind is SpoutKind.REPLAYING)
    subscribed = any(s.source == name and s.cls is DeadLetter for s in topology.streams)
    return make_spout(context, component, clock, unresolved, hooks.on_change, dead_letters=subscribed)


def make_bolt(context: TaskContext, bolt: Bolt, clock: Clock) -> BoltTask:
    """A task of a bolt."""
    if bolt.kind is BoltKind.MANUAL:
        return ManualBolt(context, bolt, clock)
    if bolt.kind is BoltKind.BATCHED or is_async(bolt):
        return DeferredBolt(context, bolt, clock)
    return RunBolt(context, bolt)


def make_spout(
    context: TaskContext,
    spout: Spout,
    clock: Clock,
    unresolved: Unresolved,
    on_change: Callable[[], None],
    *,
    dead_letters: bool,
) -> SpoutTask:
    """A task of a spout. dead_letters: whether the topology subscribes its dead letters."""

    def make_source(task: SpoutTask) -> tuple[Source, Callable[[], Any]]:
        if spout.kind is SpoutKind.REPLAYING:
            assert spout.items is not None
            items = iter(spout.items(context))
            replaying = ReplayingSource(
                items,
                max_attempts=spout.max_attempts,
                backoff=spout.backoff,
                max_pending=context.conf.max_spout_pending,
                clock=clock,
                dead_letters=dead_letters,
                log=task.log,
            )
            return replaying, getattr(items, "close", _nothing)
        assert spout.next is not None
        args = spout.make_args(context) if spout.make_args is not None else context
        deactivate = functools.partial(spout.deactivate, args) if spout.deactivate is not None else _nothing
        if spout.kind is SpoutKind.UNRELIABLE:
            return UnreliableSource(spout.next, args), deactivate
        handlers = spout.make_acker(args) if spout.make_acker is not None else None
        return ReliableSource(spout.next, args, handlers), deactivate

    return SpoutTask(context, make_source, clock, unresolved, on_change)


def _nothing() -> None:
    """Nothing to deactivate."""
