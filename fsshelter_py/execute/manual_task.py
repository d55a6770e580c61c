"""The bolt task that settles its deliveries by hand, from whatever thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fsshelter_py.ack import RotatingMap
from fsshelter_py.clock import Clock
from fsshelter_py.errors import DeliveryError
from fsshelter_py.execute.deferred_task import DeferredBolt
from fsshelter_py.execute.delivery import HeldDelivery
from fsshelter_py.execute.emitter import DirectTuple, OwnEmitter
from fsshelter_py.model.component import Bolt
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.ids import SYSTEM
from fsshelter_py.model.message import ManualOp, SystemTick
from fsshelter_py.model.printed import printed

if TYPE_CHECKING:
    from fsshelter_py.execute.flow import Flow

__all__ = ["ManualBolt"]


class ManualCollector:
    """What a manual bolt settles its deliveries with.

    Thread contract: any thread may call any method. The lock guards whether a delivery is open and that operations go
    to the executor in the order in which they were allowed; the executor performs them.
    """

    def __init__(self, task: ManualBolt, flow: Flow) -> None:
        self._task = task
        self._flow = flow
        self._stamp = flow.stamp
        self._thread = threading.get_ident()  # made by the executor
        self._lock = threading.Lock()
        self._closed = False
        self.emitted = 0
        """Emits handed to the executor; it counts those it has performed."""

    def emit(self, tuple: Any, /, anchors: Sequence[HeldDelivery] = (), *, task_id: int | None = None) -> None:
        """Emit a tuple that joins the tree of every delivery in ``anchors``."""
        emitted = tuple if task_id is None else DirectTuple(task_id, tuple)
        if self._stamp is not None:
            emitted = self._stamp(emitted)
        anchors = list(anchors)  # performed later, when the caller may have changed its own
        with self._lock:
            self._check_open("emit", anchors)
            self.emitted += 1
            self._do(lambda flow: self._task.perform_emit(anchors, emitted, flow))

    def ack(self, delivery: HeldDelivery, /) -> None:
        """The delivery was handled."""
        self._settle("ack", delivery, None)

    def fail(self, delivery: HeldDelivery, /, error: BaseException | str | None = None) -> None:
        """The delivery failed; its tree is nacked at once."""
        if not isinstance(error, BaseException):
            error = DeliveryError(error or "failed by the bolt")
        self._settle("fail", delivery, error)

    def reset_timeout(self, delivery: HeldDelivery, /) -> None:
        """Start the time of the delivery's tree anew."""
        with self._lock:
            self._check_open("reset_timeout", (delivery,))
            self._do(lambda flow: self._task.perform_renew(delivery, flow))
        if threading.get_ident() == self._thread:
            self._flow.renew(delivery.anchors)
        else:
            self._flow.trees.reset_timeout(delivery.anchors)

    def close(self) -> None:
        """Refuse everything from now on."""
        with self._lock:
            self._closed = True

    def _settle(self, what: str, delivery: HeldDelivery, error: BaseException | None) -> None:
        with self._lock:
            self._check_open(what, (delivery,))
            delivery.is_open = False
            self._do(lambda flow: self._task.perform_settle(delivery, error, flow))

    def close_delivery(self, delivery: HeldDelivery) -> bool:
        """Whether the delivery was still open; it is not any more."""
        with self._lock:
            was, delivery.is_open = delivery.is_open, False
        return was

    def _check_open(self, what: str, deliveries: Sequence[HeldDelivery]) -> None:
        if self._closed:
            raise DeliveryError(f"{what}: the bolt {self._task.component} has stopped")
        for delivery in deliveries:
            if not delivery.is_open:
                found = f"{printed(delivery)} was acked or failed before"
                raise DeliveryError(f"{what}: {found}; each delivery is settled once")

    def _do(self, perform: Callable[[Flow], None]) -> None:
        channel = self._task.channel
        if channel is not None:
            channel.put(ManualOp(perform))


class ManualBolt(DeferredBolt):
    """``Bolt.run_manual``.

    open: the deliveries not settled, by identity; one that is kept for longer than the message timeout is forgotten
    here, so that a bolt that never settles does not leak. Settling it later on is harmless.
    emits_done: of the collector's emits, those performed; the rest are in flight.
    """

    __slots__ = ("_collector", "_open", "acked", "emits_done")

    def __init__(self, context: TaskContext, bolt: Bolt, clock: Clock) -> None:
        super().__init__(context, bolt, clock)
        self._collector: Any = None
        self._open: RotatingMap[int, HeldDelivery] = RotatingMap(4)
        self.emits_done = 0
        self.acked = 0

    @property
    def pending(self) -> int:
        return len(self._open)

    @property
    def emits_made(self) -> int:
        """Emits the collector was asked for."""
        return self._collector.emitted if self._collector is not None else 0

    def start(self, flow: Flow) -> None:
        self._collector = ManualCollector(self, flow)
        super().start(flow)

    def control(self, message: Any, flow: Flow) -> None:
        match message:
            case ManualOp(perform=perform):
                perform(flow)
            case SystemTick():
                for delivery in self._open.rotate().values():
                    self.log.warning("delivery_not_settled_in_time", delivery=printed(delivery))
                    flow.done += 1
            case _:
                super().control(message, flow)

    def call(self, argument: Any, emit: Any) -> Any:
        return super().call(argument, self._collector)

    def _call(self, job: list[HeldDelivery], then: Callable[[], None] | None, flow: Flow) -> None:
        delivery = job[0]
        self._open.put(id(delivery), delivery)
        super()._call(job, then, flow)

    def _argument(self, job: list[HeldDelivery]) -> Any:
        return job[0]

    def _done(
        self,
        job: list[HeldDelivery],
        emit: OwnEmitter,
        started: float,
        then: Callable[[], None] | None,
        flow: Flow,
        error: BaseException | None,
    ) -> None:
        self.latency.add(perf_counter() - started)
        self.executed += 1
        delivery = job[0]
        ours = delivery.source == SYSTEM  # a tick, or an activation: nothing to settle, so it is done with the call
        if (error is not None or ours) and self._collector.close_delivery(delivery):
            self.perform_settle(delivery, error, flow)
        elif error is not None:  # its tree may be acked by now: nobody else is told of this
            self.blamed(error, delivery.stream, tracked=False)
        if then is not None:
            then()

    def perform_emit(self, anchors: Sequence[HeldDelivery], emitted: Any, flow: Flow) -> None:
        """Route an emit, in the executor."""
        flow.emit_for(self, anchors, [emitted])
        self.emits_done += 1

    def perform_settle(self, delivery: HeldDelivery, error: BaseException | None, flow: Flow) -> None:
        """Settle a delivery, in the executor."""
        if self._open.remove(id(delivery)) is None:
            flow.done -= 1  # it counted as done when it was forgotten, and does not count twice, not for a moment
        flow.finish(delivery, error)
        self.acked += error is None

    def perform_renew(self, delivery: HeldDelivery, flow: Flow) -> None:
        """Keep a delivery for longer, in the executor; another thread may have asked before the acker knew of it."""
        if id(delivery) in self._open:
            self._open.put(id(delivery), delivery)
            flow.renew(delivery.anchors)

    def close(self, flow: Flow, closed: Callable[[], None]) -> None:
        self._collector.close()
        for _ in range(4):
            flow.done += len(self._open.rotate())
        super().close(flow, closed)

    def let_go(self, job: list[HeldDelivery], flow: Flow) -> None:
        """``close`` has counted it, as one of those that are open."""
