"""The bolt task whose tuples are finished later: coroutines and batches."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fsshelter_py.clock import Clock
from fsshelter_py.execute.bolt_task import BoltTask, TerminatedError
from fsshelter_py.execute.delivery import HeldDelivery
from fsshelter_py.execute.emitter import OwnEmitter
from fsshelter_py.execute.leg import Leg
from fsshelter_py.model.component import Bolt, BoltKind
from fsshelter_py.model.context import TaskContext

if TYPE_CHECKING:
    from fsshelter_py.execute.flow import Flow

__all__ = ["DeferredBolt"]


class DeferredBolt(BoltTask):
    """A bolt whose calls are jobs: one delivery each, or a batch of them.

    jobs: waiting to be called; running: called and not done, ``concurrency`` at most. buffer: the batch being gathered.
    Invariant: congested exactly if this task holds back those upstream of it for having too many jobs waiting.
    """

    __slots__ = (
        "_batched",
        "_buffer",
        "_buffer_due",
        "_clock",
        "_closed",
        "_closing",
        "_concurrency",
        "_congested",
        "_jobs",
        "_limit",
        "_running",
        "_scheduled",
        "_waiting",
    )

    def __init__(self, context: TaskContext, bolt: Bolt, clock: Clock) -> None:
        super().__init__(context, bolt)
        self.deferred = True
        self._clock = clock
        self._batched = bolt.kind is BoltKind.BATCHED
        self._concurrency = bolt.concurrency
        self._limit = context.conf.executor_receive_buffer_size
        self._jobs: deque[tuple[list[HeldDelivery], Callable[[], None] | None]] = deque()
        self._running: set[Any] = set()
        self._buffer: list[HeldDelivery] = []
        self._buffer_due = 0.0
        self._waiting = 0
        self._congested = self._scheduled = self._closed = False
        self._closing: Callable[[], None] | None = None
        """What is to be done once the jobs that ``close`` cancelled have ended."""

    @property
    def pending(self) -> int:
        return self._waiting + len(self._buffer) + len(self._running)

    # --- gathering --------------------------------------------------------------------------------------------------

    def accept(self, leg: Leg, tuples: list[Any], flow: Flow) -> None:
        for tuple in tuples:
            delivery = flow.retain(self, leg, tuple)
            if self._batched:
                self._gather(delivery)
            else:
                self._add_job([delivery])
        self._schedule(flow)

    def _gather(self, delivery: HeldDelivery) -> None:
        if not self._buffer:
            self._buffer_due = self._clock.now() + (self.bolt.max_wait or 0)
        self._buffer.append(delivery)
        if len(self._buffer) >= (self.bolt.max_size or 1):
            self._cut()

    def _cut(self) -> None:
        """The gathered batch becomes a job."""
        if self._buffer:
            batch, self._buffer = self._buffer, []
            self._add_job(batch)

    def _add_job(self, job: list[HeldDelivery], then: Callable[[], None] | None = None) -> None:
        self._jobs.append((job, then))
        self._waiting += len(job)
        if self._waiting >= self._limit and not self._congested:
            self._congested = True
            for task in self.upstream:
                task.hold()

    def due(self) -> float | None:
        return self._buffer_due if self._buffer else None

    def turn(self, flow: Flow) -> bool:
        """Cut the batch whose time has come, and call what may be called."""
        if not self._buffer:
            return False
        if self._clock.now() < self._buffer_due and (not flow.flushing or self.held or self._has_more()):
            return False
        self._cut()
        self._pump(flow)
        return True

    def _has_more(self) -> bool:
        """Whether more waits in the ring, which the next turn takes: a batch is not cut short for the end before it."""
        return self.channel is not None and self.channel.count > 0

    # --- calling ----------------------------------------------------------------------------------------------------

    def _schedule(self, flow: Flow) -> None:
        """Call jobs once the tree being worked on is put aside."""
        if self._jobs and not self._scheduled:
            self._scheduled = True
            flow.after.append(partial(self._pump, flow))

    def _pump(self, flow: Flow) -> None:
        self._scheduled = False
        while self._jobs and len(self._running) < self._concurrency:
            job, then = self._jobs.popleft()
            self._waiting -= len(job)
            self._call(job, then, flow)
        if self._congested and self._waiting <= self._limit // 2:
            self._congested = False
            for task in self.upstream:
                task.release()

    def _call(self, job: list[HeldDelivery], then: Callable[[], None] | None, flow: Flow) -> None:
        anchors = tuple({a: None for delivery in job for a in delivery.anchors})
        emit = flow.own_emitter(partial(flow.renew, anchors))
        started = perf_counter()
        try:
            result = self.call(self._argument(job), emit)
            if not (flow.has_loop and inspect.isawaitable(result)):
                self.returned(result)
        except BaseException as error:
            self._done(job, emit, started, then, flow, error)
            return
        if not (flow.has_loop and inspect.isawaitable(result)):
            self._done(job, emit, started, then, flow, None)
            return
        running: list[Any] = []

        def done(flow: Flow, result: Any, error: BaseException | None) -> None:
            self._running.discard(running[0])
            if self._closed and isinstance(error, asyncio.CancelledError):
                self.let_go(job, flow)
            else:
                self._done(job, emit, started, then, flow, error)
            self._pump(flow)
            if self._closing is not None and not self._running:
                closed, self._closing = self._closing, None
                closed()

        running.append(flow.spawn(result, done))
        self._running.add(running[0])

    def _argument(self, job: list[HeldDelivery]) -> Any:
        return [delivery.tuple for delivery in job] if self._batched else job[0].tuple

    def _done(
        self,
        job: list[HeldDelivery],
        emit: OwnEmitter,
        started: float,
        then: Callable[[], None] | None,
        flow: Flow,
        error: BaseException | None,
    ) -> None:
        """A job is done: route what it emitted, settle its deliveries."""
        self.latency.add((perf_counter() - started) / len(job))
        emit.closed = True
        self.executed += len(job)
        if emit:
            flow.emit_for(self, job, list(emit))
        if error is None and self.bolt.kind is BoltKind.TERMINATOR:
            error = TerminatedError(f"{self.component} fails every tuple")
        for delivery in job:
            flow.finish(delivery, error)
        if then is not None:
            then()

    # --- tuples of the runtime's own, and the end -------------------------------------------------------------------

    def handle_special(self, tuple: Any, stream: str, flow: Flow, then: Callable[[], None] | None = None) -> None:
        flow.anchor = flow.reason = None
        self._cut()
        self._add_job([flow.retain(self, Leg.of_system(stream), tuple)], then)
        self._pump(flow)

    def stop(self, flow: Flow, deactivated: Callable[[], None]) -> None:
        self._cut()
        self._pump(flow)
        super().stop(flow, deactivated)

    def close(self, flow: Flow, closed: Callable[[], None]) -> None:
        """Call nothing more and cancel what was called. None of it has failed: its spouts are told it was stopped."""
        self._closed = True
        flow.done += self._waiting
        self._waiting = 0
        self._jobs.clear()
        for running in self._running:
            running.cancel()
        if self._running and self.bolt.deactivate is not None:  # what they work with is about to be closed
            self._closing = closed
        else:
            closed()

    def let_go(self, job: list[HeldDelivery], flow: Flow) -> None:
        """A job was cancelled by ``close``."""
        flow.done += len(job)
