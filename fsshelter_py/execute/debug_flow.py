"""The flow of debug mode: logs every tuple, and reports those that somebody changed after their emit.

A tuple is handed on as the object it is, to every subscriber, across threads; who changes it changes it for the others
too. A flow of its own, chosen when the runtime is wired, so that without debug mode nothing of this costs anything.

A tuple is fingerprinted when it is emitted, and looked at again when the emitting function has returned, when a bolt is
handed it, and when that has handled it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

from fsshelter_py.errors import EmitError
from fsshelter_py.execute.delivery import HeldDelivery
from fsshelter_py.execute.emitter import DirectTuple, OwnEmitter, emitter
from fsshelter_py.execute.fingerprint import Stamped, changed_fields, fingerprint
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.leg import Leg
from fsshelter_py.model.printed import printed
from fsshelter_py.model.schema import stream_id

if TYPE_CHECKING:
    from fsshelter_py.execute.bolt_task import BoltTask
    from fsshelter_py.execute.task import Task

__all__ = ["DebugFlow"]

Fingerprints = Sequence[Mapping[str, Any]]


class _Printed(list[Any]):
    """The tuples of a bundle, with their fingerprints when it was sent."""

    fingerprints: Fingerprints


def _stamping_emitter(reset: Callable[[], None]) -> tuple[Any, list[Any]]:
    """Made in the executor's thread, and for it alone."""
    emit, emitted = emitter(reset)
    owner = get_ident()

    def stamp(tuple: Any, /) -> None:
        if get_ident() != owner:
            raise EmitError("emit was called from another thread: emit before consume returns, or use Bolt.run_manual")
        emit(Stamped(tuple))

    def direct(task_id: int, tuple: Any, /) -> None:
        stamp(DirectTuple(task_id, tuple))

    attributes: Any = stamp
    attributes.direct = direct
    attributes.reset_timeout = reset
    return stamp, emitted


class _StampingOwnEmitter(OwnEmitter):
    __slots__ = ()

    def __call__(self, tuple: Any, /) -> None:
        super().__call__(Stamped(tuple))


class DebugFlow(Flow):
    """A flow that looks at each tuple.

    _handling: what a bolt has been handed and what that looked like, until it is known to have returned.
    """

    __slots__ = ("_handling",)

    emitter = staticmethod(_stamping_emitter)
    own_emitter = _StampingOwnEmitter
    stamp = Stamped

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._handling: list[tuple[BoltTask, Leg, list[Any], Fingerprints]] = []

    def root(self, task: Task, tuple: Any) -> bool:
        return super().root(task, Stamped(tuple))

    def untracked(self, task: Task, tuples: list[Any]) -> None:
        super().untracked(task, [Stamped(tuple) for tuple in tuples])

    def feed(self, task: BoltTask, leg: Leg, tuples: list[Any]) -> None:
        now = [fingerprint(tuple) for tuple in tuples]
        if type(tuples) is _Printed:
            self._compare(task, leg, tuples, tuples.fingerprints, "before it was handled")
        if task.context.conf.debug:
            for tuple in tuples:
                task.log.info("tuple_received", stream=leg.stream, source=leg.source, tuple=printed(tuple))
        if task.deferred:
            super().feed(task, leg, tuples)
            return
        self._handling.append((task, leg, tuples, now))
        super().feed(task, leg, tuples)
        self._handled(task)

    def _handled(self, task: Task) -> None:
        """The task's function has returned; what it emitted has not been routed, or there was nothing."""
        if self._handling and self._handling[-1][0] is task:
            receiver, leg, tuples, before = self._handling.pop()
            self._compare(receiver, leg, tuples, before, "while it was handled")

    def route(self, task: Task, emitted: list[Any]) -> None:
        self._handled(task)
        super().route(task, [self._unstamped(task, item) if type(item) is Stamped else item for item in emitted])

    def _unstamped(self, task: Task, stamped: Stamped) -> Any:
        emitted = stamped.emitted
        tuple = emitted.tuple if type(emitted) is DirectTuple else emitted
        stream = stream_id(type(tuple))
        self._tell(task, stream, task.component, tuple, stamped.fingerprint, "before its emitter returned")
        if task.context.conf.debug:
            task.log.info("tuple_emitted", stream=stream, tuple=printed(tuple))
        return emitted

    def send(self, outlet: Any, leg: Leg, tuples: list[Any]) -> None:
        sent = _Printed(tuples)
        sent.fingerprints = [fingerprint(tuple) for tuple in tuples]
        super().send(outlet, leg, sent)

    def retain(self, task: BoltTask, leg: Leg, tuple: Any) -> HeldDelivery:
        delivery = super().retain(task, leg, tuple)
        delivery.fingerprint = fingerprint(tuple)
        return delivery

    def finish(self, delivery: HeldDelivery, error: BaseException | None) -> None:
        before = [delivery.fingerprint]
        self._compare(delivery.task, delivery.leg, [delivery.tuple], before, "while it was handled")
        super().finish(delivery, error)

    def _compare(self, task: Task, leg: Leg, tuples: Sequence[Any], before: Fingerprints, when: str) -> None:
        for tuple, fingerprint_then in zip(tuples, before, strict=True):
            self._tell(task, leg.stream, leg.source, tuple, fingerprint_then, when)

    def _tell(self, task: Task, stream: str, source: str, tuple: Any, then: Mapping[str, Any], when: str) -> None:
        if fields := changed_fields(tuple, then):
            task.log.error(
                "tuple_changed_after_emit",
                stream=stream,
                fields=fields,
                emitted_by=source,
                seen=when,
                tuple=printed(tuple),
                hint="its other receivers see the change too; emit a new tuple instead, or make the class frozen",
            )
