"""Spouts and bolts as a topology file declares them: user functions and how to run them."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias, TypeVar, overload

from fsshelter_py.conf import merged
from fsshelter_py.model.context import Collector, Delivery, Emit, TaskContext
from fsshelter_py.model.grouping import Grouping
from fsshelter_py.model.outcome import EndOfInput

__all__ = ["Backoff", "Bolt", "BoltKind", "Link", "Spout", "SpoutKind", "Subscription"]

A = TypeVar("A")
R = TypeVar("R")

Backoff: TypeAlias = float | Callable[[int], float]
"""Seconds before a tuple is emitted again: the same each time, or by how many attempts it has had."""

MakeArgs: TypeAlias = Callable[[TaskContext], A]
Next: TypeAlias = Callable[[A], R | None | EndOfInput | Awaitable[R | None | EndOfInput]]
AckHandlers: TypeAlias = "tuple[Callable[..., object], Callable[..., object]]"


class SpoutKind(enum.Enum):
    """How a spout was made."""

    RELIABLE = "reliable"
    UNRELIABLE = "unreliable"
    REPLAYING = "replaying"


class BoltKind(enum.Enum):
    """How a bolt was made: who acks, and what its ``consume`` is handed."""

    RUN = "run"
    TERMINATOR = "terminator"
    BATCHED = "batched"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Component:
    """What spouts and bolts have in common. Compared by identity: each declaration is a component of its own."""

    make_args: Callable[[TaskContext], Any] | None = None
    name: str | None = None
    parallelism: int = 1
    executors: int | None = None
    concurrency: int = 1
    conf: Mapping[str, Any] = field(default_factory=dict)

    def with_parallelism(self, tasks: int) -> Self:
        """The same component with this many tasks."""
        return replace(self, parallelism=tasks)

    def with_executors(self, threads: int) -> Self:
        """The same component served by this many threads of its own."""
        return replace(self, executors=threads)

    def with_concurrency(self, coroutines: int) -> Self:
        """The same async component with this many coroutines in flight per task; 1, the default, keeps order."""
        return replace(self, concurrency=coroutines)

    def with_conf(self, options: Mapping[str, Any] | None = None, /, **by_field: Any) -> Self:
        """The same component with options of its own, by field or by Storm key; they win over the topology's."""
        return replace(self, conf=merged(self.conf, options or {}, by_field))

    def with_name(self, name: str) -> Self:
        """The same component under this name instead of that of the variable that holds it."""
        return replace(self, name=name)

    def __rshift__(self, target: Bolt) -> Link:
        if not isinstance(target, Bolt):
            return NotImplemented
        if not isinstance(self, (Spout, Bolt)):
            return NotImplemented
        return Link(self, target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spout(_Component):
    """A source of tuples. Made by ``run_reliable``, ``run_unreliable`` or ``replaying``.

    next, make_acker, deactivate: the user's functions. items, max_attempts, backoff: of a replaying spout.
    """

    kind: SpoutKind
    next: Callable[..., Any] | None = None
    make_acker: Callable[[Any], AckHandlers] | None = None
    deactivate: Callable[[Any], object] | None = None
    items: Callable[[TaskContext], Iterable[Any]] | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None

    @overload
    @staticmethod
    def run_reliable(
        next: Next[A, tuple[Any, Any]],
        *,
        make_args: MakeArgs[A],
        make_acker: Callable[[A], AckHandlers] | None = None,
        deactivate: Callable[[A], object] | None = None,
    ) -> Spout: ...

    @overload
    @staticmethod
    def run_reliable(
        next: Next[TaskContext, tuple[Any, Any]],
        *,
        make_args: None = None,
        make_acker: Callable[[TaskContext], AckHandlers] | None = None,
        deactivate: Callable[[TaskContext], object] | None = None,
    ) -> Spout: ...

    @staticmethod
    def run_reliable(
        next: Callable[..., Any],
        *,
        make_args: Callable[[TaskContext], Any] | None = None,
        make_acker: Callable[[Any], AckHandlers] | None = None,
        deactivate: Callable[[Any], object] | None = None,
    ) -> Spout:
        """A spout whose tuples are tracked.

        next: ``next(args)`` returns ``(tuple_id, tuple)``, ``None`` (nothing now) or ``END`` (no more input).
        make_args: ``make_args(ctx)`` gives ``args``, once per task, in its executor; without it ``args`` is ``ctx``.
        make_acker: ``make_acker(args)`` gives ``(ack, nack)``: ``ack(tuple_id)``, and ``nack(tuple_id)`` or
            ``nack(tuple_id, reason)``. A handler with a parameter named ``tuple`` is given the emitted tuple too.
        deactivate: ``deactivate(args)``, when the topology stops, after every tuple is settled.

        Any of them may be a coroutine function, except ``make_args`` and ``make_acker``.
        """
        return Spout(
            kind=SpoutKind.RELIABLE, next=next, make_args=make_args, make_acker=make_acker, deactivate=deactivate
        )

    @overload
    @staticmethod
    def run_unreliable(
        next: Next[A, object], *, make_args: MakeArgs[A], deactivate: Callable[[A], object] | None = None
    ) -> Spout: ...

    @overload
    @staticmethod
    def run_unreliable(
        next: Next[TaskContext, object],
        *,
        make_args: None = None,
        deactivate: Callable[[TaskContext], object] | None = None,
    ) -> Spout: ...

    @staticmethod
    def run_unreliable(
        next: Callable[..., Any],
        *,
        make_args: Callable[[TaskContext], Any] | None = None,
        deactivate: Callable[[Any], object] | None = None,
    ) -> Spout:
        """A spout whose tuples are never tracked: ``next(args)`` returns a tuple, ``None`` or ``END``."""
        return Spout(kind=SpoutKind.UNRELIABLE, next=next, make_args=make_args, deactivate=deactivate)

    @staticmethod
    def replaying(
        items: Callable[[TaskContext], Iterable[Any]],
        *,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
    ) -> Spout:
        """A reliable spout over any iterable, which emits a nacked tuple again.

        items: ``items(ctx)`` returns the iterable, once per task; at its end the input ends.
        max_attempts: how often a tuple is emitted in all; ``None``: for ever. After that it becomes a
            ``DeadLetter``, emitted on the spout's ``DeadLetter`` stream where the topology subscribes one,
            else logged and counted.
        backoff: seconds before a tuple is emitted again, or a function of the attempts it has had; ``None``: at once.
        """
        return Spout(kind=SpoutKind.REPLAYING, items=items, max_attempts=max_attempts, backoff=backoff)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bolt(_Component):
    """A processor of tuples. Made by ``run``, ``run_terminator``, ``run_batched`` or ``run_manual``.

    consume, deactivate: the user's functions. max_size, max_wait: of a batched bolt.
    activation, deactivation: tuples handled at start and at stop.
    """

    kind: BoltKind
    consume: Callable[..., Any]
    deactivate: Callable[[Any], object] | None = None
    max_size: int | None = None
    max_wait: float | None = None
    activation: Any = None
    deactivation: Any = None

    def with_activation(self, tuple: Any) -> Bolt:
        """The same bolt, handling this tuple when it starts; what it emits then is not anchored."""
        return replace(self, activation=tuple)

    def with_deactivation(self, tuple: Any) -> Bolt:
        """The same bolt, handling this tuple when it stops; what it emits then is not anchored."""
        return replace(self, deactivation=tuple)

    @overload
    @staticmethod
    def run(consume: Callable[[Any, Emit[Any]], object], *, make_args: None = None) -> Bolt: ...

    @overload
    @staticmethod
    def run(
        consume: Callable[[A, Any, Emit[Any]], object],
        *,
        make_args: MakeArgs[A],
        deactivate: Callable[[A], object] | None = None,
    ) -> Bolt: ...

    @staticmethod
    def run(
        consume: Callable[..., object],
        *,
        make_args: Callable[[TaskContext], Any] | None = None,
        deactivate: Callable[[Any], object] | None = None,
    ) -> Bolt:
        """A bolt that acks a tuple when ``consume([args,] tuple, emit)`` returns and fails it when it raises.

        consume: a function or a coroutine function.
        make_args: ``make_args(ctx)`` gives ``args``, once per task, in its executor; without it there is none.
        deactivate: ``deactivate(args)``, a function or a coroutine function, once per task when the topology stops or
            restarts, after all that it was handed: to close what ``make_args`` opened. What it raises is logged.

        The other kinds take ``make_args`` and ``deactivate`` alike.
        """
        return Bolt(kind=BoltKind.RUN, consume=consume, make_args=make_args, deactivate=deactivate)

    @overload
    @staticmethod
    def run_terminator(consume: Callable[[Any, Emit[Any]], object], *, make_args: None = None) -> Bolt: ...

    @overload
    @staticmethod
    def run_terminator(
        consume: Callable[[A, Any, Emit[Any]], object],
        *,
        make_args: MakeArgs[A],
        deactivate: Callable[[A], object] | None = None,
    ) -> Bolt: ...

    @staticmethod
    def run_terminator(
        consume: Callable[..., object],
        *,
        make_args: Callable[[TaskContext], Any] | None = None,
        deactivate: Callable[[Any], object] | None = None,
    ) -> Bolt:
        """A bolt that handles every tuple, then always fails it (FsShelter's auto-nack)."""
        return Bolt(kind=BoltKind.TERMINATOR, consume=consume, make_args=make_args, deactivate=deactivate)

    @overload
    @staticmethod
    def run_batched(
        consume: Callable[[list[Any], Emit[Any]], object], *, max_size: int, max_wait: float, make_args: None = None
    ) -> Bolt: ...

    @overload
    @staticmethod
    def run_batched(
        consume: Callable[[A, list[Any], Emit[Any]], object],
        *,
        max_size: int,
        max_wait: float,
        make_args: MakeArgs[A],
        deactivate: Callable[[A], object] | None = None,
    ) -> Bolt: ...

    @staticmethod
    def run_batched(
        consume: Callable[..., object],
        *,
        max_size: int,
        max_wait: float,
        make_args: Callable[[TaskContext], Any] | None = None,
        deactivate: Callable[[Any], object] | None = None,
    ) -> Bolt:
        """A bolt that handles tuples in batches: ``consume([args,] tuples, emit)``.

        ``tuples`` is a list, the function's to keep. A batch is handled when it holds ``max_size`` tuples, when its
        first has waited ``max_wait`` seconds, when the input ends and on stop. The whole batch is acked or failed;
        what is emitted joins the trees of all its tuples.
        """
        return Bolt(
            kind=BoltKind.BATCHED,
            consume=consume,
            make_args=make_args,
            deactivate=deactivate,
            max_size=max_size,
            max_wait=max_wait,
        )

    @overload
    @staticmethod
    def run_manual(consume: Callable[[Delivery[Any], Collector[Any]], object], *, make_args: None = None) -> Bolt: ...

    @overload
    @staticmethod
    def run_manual(
        consume: Callable[[A, Delivery[Any], Collector[Any]], object],
        *,
        make_args: MakeArgs[A],
        deactivate: Callable[[A], object] | None = None,
    ) -> Bolt: ...

    @staticmethod
    def run_manual(
        consume: Callable[..., object],
        *,
        make_args: Callable[[TaskContext], Any] | None = None,
        deactivate: Callable[[Any], object] | None = None,
    ) -> Bolt:
        """A bolt that settles its deliveries itself: ``consume([args,] delivery, collector)``.

        The collector's methods may be called from any thread, until the bolt stops. If ``consume`` raises, the
        delivery is failed, unless it is settled already.
        """
        return Bolt(kind=BoltKind.MANUAL, consume=consume, make_args=make_args, deactivate=deactivate)


@dataclass(frozen=True, slots=True)
class Link:
    """``source >> target``, still without a grouping."""

    source: Spout | Bolt
    target: Bolt

    def __or__(self, grouping: Grouping) -> Subscription:
        if not isinstance(grouping, Grouping):
            raise TypeError(f"`source >> target |` expects a grouping, such as Shuffle.on(T); got {grouping!r}")
        return Subscription(self.source, self.target, grouping)


@dataclass(frozen=True, slots=True)
class Subscription:
    """``source >> target | grouping``: what a topology function yields."""

    source: Spout | Bolt
    target: Bolt
    grouping: Grouping
