"""The plain bolt task: a sync function, called as its tuples come, done when it returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fsshelter_py.errors import ComponentError, FsShelterError
from fsshelter_py.execute.leg import Leg
from fsshelter_py.execute.task import Task
from fsshelter_py.model.component import Bolt, BoltKind
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.message import Deactivate, TupleTick
from fsshelter_py.model.outcome import Tick
from fsshelter_py.model.printed import printed

if TYPE_CHECKING:
    from fsshelter_py.execute.flow import Flow

__all__ = ["BoltTask", "RunBolt", "TerminatedError"]


class TerminatedError(FsShelterError):
    """Why a terminator's tuples fail: it handled the tuple, and fails every one."""


class BoltTask(Task):
    """A task that can be fed tuples.

    consume: called with ``(args, tuple, emit)`` if has_args, else with ``(tuple, emit)``.
    emit: what it is given to emit with. emitted_now: what it has emitted since the executor last looked.
    deferred: whether feeding only hands the tuples over, to be finished later; then ``accept`` is called instead.
    sample_at: the next count of executed tuples at which a call is timed.
    tick_waits: whether a tick tuple is on its way; set by the system task, cleared here.
    """

    __slots__ = ("args", "bolt", "consume", "deferred", "emit", "emitted_now", "has_args", "sample_at", "tick_waits")

    def __init__(self, context: TaskContext, bolt: Bolt) -> None:
        super().__init__(context)
        self.bolt = bolt
        self.consume: Callable[..., Any] = bolt.consume
        self.has_args = bolt.make_args is not None
        self.args: Any = None
        self.emit: Any = None
        self.emitted_now: list[Any] = []
        self.deferred = False
        self.sample_at = 0
        self.tick_waits = False

    def start(self, flow: Flow) -> None:
        if self.bolt.make_args is not None:
            try:
                self.args = self.bolt.make_args(self.context)
            except BaseException as error:
                text = f"make_args failed: {type(error).__name__}: {printed(error, str)}"
                raise ComponentError(text, component=self.component, task_id=self.id) from error
        if self.bolt.activation is not None:
            self.handle_special(self.bolt.activation, "__activation", flow)

    def control(self, message: Any, flow: Flow) -> None:
        match message:
            case TupleTick(number=number):
                if self.started:
                    self.handle_special(Tick(number), "__tick", flow, self._ticked)
                else:
                    self._ticked()
            case Deactivate(deactivated=deactivated):
                self.stop(flow, deactivated)
            case _:
                super().control(message, flow)

    def _ticked(self) -> None:
        """A tick tuple has been handled, which may be long after it came: only now may another be sent."""
        self.tick_waits = False

    def handle_special(self, tuple: Any, stream: str, flow: Flow, then: Callable[[], None] | None = None) -> None:
        """Hand the user function a tuple of the runtime's own, which belongs to no tree; ``then`` when it is done."""
        raise NotImplementedError

    def stop(self, flow: Flow, deactivated: Callable[[], None]) -> None:
        """Handle the deactivation tuple, then be fed no more."""
        if not self.started:
            deactivated()
            return

        def done() -> None:
            if self.emitted_now:
                self.drop_late()
            self.started = False
            self.close(flow, partial(self._deactivate, flow, deactivated))

        if self.bolt.deactivation is not None:
            self.handle_special(self.bolt.deactivation, "__deactivation", flow, done)
        else:
            done()

    def _deactivate(self, flow: Flow, deactivated: Callable[[], None]) -> None:
        """Have the user close what ``make_args`` opened; ``deactivated`` when that is done, well or not."""
        if self.bolt.deactivate is None:
            deactivated()
            return

        def done(flow: Flow, result: Any, error: BaseException | None) -> None:
            if error is not None:
                self.log.error("deactivate_failed", exc_info=error)
            deactivated()

        try:
            result = self.bolt.deactivate(self.args)
        except BaseException as error:
            done(flow, None, error)
            return
        if inspect.isawaitable(result):
            flow.spawn(result, done)
        else:
            done(flow, result, None)

    def close(self, flow: Flow, closed: Callable[[], None]) -> None:
        """Let go of what will not be finished any more; ``closed`` once no user function is at work."""
        closed()

    def accept(self, leg: Leg, tuples: list[Any], flow: Flow) -> None:
        """Take over tuples to finish later. Only for a deferred task."""
        raise NotImplementedError

    def call(self, argument: Any, emit: Any) -> Any:
        """Call the user function."""
        return self.consume(self.args, argument, emit) if self.has_args else self.consume(argument, emit)

    def drop_late(self) -> None:
        """Tuples were emitted when no input was being handled: nothing can be told of what they were emitted for."""
        late = self.emitted_now[:]
        del self.emitted_now[: len(late)]
        self.untracked_failures += len(late)
        hint = "emit before consume returns, or use Bolt.run_manual"
        self.log.error("emitted_too_late", dropped=len(late), first=printed(late[0]), hint=hint)

    def returned(self, result: Any) -> None:
        """The user function of a sync bolt returned something. Raises ``TypeError`` if that means it did not run."""
        if inspect.iscoroutine(result):
            result.close()
            raise TypeError(f"consume of {self.component} returned a coroutine: declare it with async def")
        if inspect.isgenerator(result):
            raise TypeError(f"consume of {self.component} returned a generator: call emit instead of yield")


class RunBolt(BoltTask):
    """``Bolt.run`` and ``Bolt.run_terminator`` with a sync function."""

    __slots__ = ()

    def __init__(self, context: TaskContext, bolt: Bolt) -> None:
        super().__init__(context, bolt)
        if bolt.kind is BoltKind.TERMINATOR:
            self.consume = self._terminate

    def _terminate(self, *args: Any) -> None:
        self.returned(self.bolt.consume(*args))
        raise TerminatedError(f"{self.component} fails every tuple")

    def start(self, flow: Flow) -> None:
        self.emit, self.emitted_now = flow.emitter(flow.reset_timeout)
        super().start(flow)

    def handle_special(self, tuple: Any, stream: str, flow: Flow, then: Callable[[], None] | None = None) -> None:
        flow.anchor = flow.reason = None
        flow.feed(self, Leg.of_system(stream), [tuple])
        if then is not None:
            then()
