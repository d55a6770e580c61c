"""Making a component's tasks from its declaration."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fsshelter_py.build.callables import is_async
from fsshelter_py.clock import Clock
from fsshelter_py.execute.bolt_task import BoltTask, RunBolt
from fsshelter_py.execute.deferred_task import DeferredBolt
from fsshelter_py.execute.manual_task import ManualBolt
from fsshelter_py.execute.source import ReliableSource, ReplayingSource, Source, UnreliableSource
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.component import Bolt, BoltKind, Spout, SpoutKind
from fsshelter_py.model.context import TaskContext

__all__ = ["make_bolt", "make_spout"]


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
