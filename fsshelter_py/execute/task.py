"""What every task has: its identity, where its tuples go, whether it may be fed, and its counters.

A task is state; the executor that serves it is a thread, and only that thread changes a task. Counters may be read from
other threads at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsshelter_py.channel import Channel
from fsshelter_py.errors import EmitError
from fsshelter_py.execute.guarded_log import GuardedLog
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.message import Start, Undelivered
from fsshelter_py.model.schema import is_tuple_class

if TYPE_CHECKING:
    from fsshelter_py.execute.bolt_task import BoltTask
    from fsshelter_py.execute.flow import Flow
    from fsshelter_py.execute.leg import Leg

__all__ = ["Latency", "Task"]

_LOGGED = frozenset({1, 2, 3, 10, 100, 1_000, 10_000, 100_000, 1_000_000})


class Latency:
    """The sum of some sampled durations, in seconds."""

    __slots__ = ("count", "cpu", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.cpu = 0.0

    def add(self, seconds: float, cpu: float = 0.0) -> None:
        self.count += 1
        self.total += seconds
        self.cpu += cpu


class Task:
    """A spout, bolt, acker or system task.

    held: how many full rings, ahead of this task by direct calls, keep it from being fed.
    Invariant: the channel is open exactly if held == 0.
    onward: of the classes in ``legs``, those that go to one task of the same executor and nowhere else.
    upstream: this task and those of the same executor that reach it by direct calls alone.
    failed: for a bolt, deliveries; for a spout, source tuples. untracked_failures: what no source tuple answers for.
    """

    __slots__ = (
        "channel",
        "component",
        "context",
        "emitted",
        "executed",
        "failed",
        "held",
        "id",
        "latency",
        "legs",
        "log",
        "onward",
        "started",
        "untracked_failures",
        "upstream",
    )

    def __init__(self, context: TaskContext) -> None:
        self.context = context
        self.id = context.task_id
        self.component = context.component
        self.log = GuardedLog(context.log)
        self.channel: Channel | None = None
        self.legs: dict[type[Any], tuple[Leg, ...]] = {}
        self.onward: dict[type[Any], tuple[BoltTask, Leg]] = {}
        self.upstream: tuple[Task, ...] = (self,)
        self.held = 0
        self.started = False
        self.emitted = 0
        self.executed = 0
        self.failed = 0
        self.untracked_failures = 0
        self.latency = Latency()

    def learn(self, kind: type[Any]) -> tuple[Leg, ...]:
        """The legs for a class met for the first time: those of a base class, or none. Raises ``EmitError``."""
        for base in kind.__mro__[1:]:
            if base in self.legs:
                break
        else:
            if not is_tuple_class(kind):
                raise EmitError(
                    f"{self.component} emitted a {kind.__qualname__}, which is no tuple class: emit a dataclass, "
                    "NamedTuple, attrs class or msgspec Struct"
                )
        legs = self.legs[kind] = self.legs.get(base, ())
        return legs

    def hold(self) -> None:
        """Something ahead is full: do not feed this task."""
        self.held += 1
        if self.held == 1 and self.channel is not None:
            self.channel.close()

    def release(self) -> None:
        """It is full no more."""
        self.held -= 1
        if self.held == 0 and self.channel is not None:
            self.channel.open()

    def blamed(self, error: BaseException, stream: str | None, *, tracked: bool) -> None:
        """A tuple failed here. The first failures are logged, then ever fewer: every nack carries its reason anyway."""
        self.failed += 1
        if not tracked:
            self.untracked_failures += 1
        if self.failed in _LOGGED:
            self.log.warning("tuple_failed", stream=stream, failed=self.failed, exc_info=error)

    def control(self, message: Any, flow: Flow) -> None:
        """Handle one message of the control lane."""
        match message:
            case Start(started=started):
                self.start(flow)
                self.started = True
                started()
            case Undelivered(anchors=anchors, stream=stream, error=error):
                flow.undelivered(self, anchors, stream, error)
            case _:
                raise TypeError(f"{self.component} cannot handle {message!r}")

    def start(self, flow: Flow) -> None:
        """Make the arguments and begin."""

    def due(self) -> float | None:
        """When this task has something to do even if nothing comes in, as the clock tells; None: never."""
        return None

    def turn(self, flow: Flow) -> bool:
        """Do what is due; True if anything was done. Called once a turn for tasks that have a ``due``."""
        return False

    @property
    def pending(self) -> int:
        """What this task has begun and not finished."""
        return 0

    @property
    def resting(self) -> bool:
        """Whether nothing will come of this task unless it is fed."""
        return True

    def abandon(self) -> None:
        """Give up what is unfinished: the runtime is going down and will not wait."""
