"""What user code is handed: the emitter, the task's context, the manual bolt's delivery and collector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from fsshelter_py.conf import Conf
from fsshelter_py.model.ids import ComponentId, TaskId

__all__ = ["Collector", "Delivery", "Emit", "TaskContext"]

T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)


class Emit(Protocol[T_contra]):
    """Emits tuples while a bolt handles one; valid until ``consume`` returns."""

    def __call__(self, tuple: T_contra, /) -> None:
        """Emit a tuple on the stream of its class, to every subscriber.

        It is sent after ``consume`` has returned or raised; a tuple of no stream class fails the input with an
        ``EmitError``.
        """
        ...

    def direct(self, task_id: TaskId, tuple: T_contra, /) -> None:
        """Emit a tuple to one task of a component that subscribes its stream with ``Direct.on``."""
        ...

    def reset_timeout(self) -> None:
        """Start the time of the tree being worked on anew; takes effect at once."""
        ...


class Delivery(Protocol[T_co]):
    """One tuple handed to a manual bolt; to be settled with the collector, once."""

    @property
    def tuple(self) -> T_co:
        """The tuple."""
        ...

    @property
    def source(self) -> ComponentId:
        """The component that emitted it."""
        ...

    @property
    def stream(self) -> str:
        """The id of the stream it came on."""
        ...


class Collector(Protocol[T_contra]):
    """A manual bolt's hand on its deliveries. Every method may be called from any thread until the bolt stops.

    Each raises ``DeliveryError`` for a delivery that is settled already and leaves the tree alone.
    """

    def emit(self, tuple: T_contra, /, anchors: Sequence[Delivery[Any]] = (), *, task_id: TaskId | None = None) -> None:
        """Emit a tuple that joins the tree of every delivery in ``anchors``; ``task_id`` emits it directly."""
        ...

    def ack(self, delivery: Delivery[Any], /) -> None:
        """The delivery was handled."""
        ...

    def fail(self, delivery: Delivery[Any], /, error: BaseException | str | None = None) -> None:
        """The delivery failed; its tree is nacked at once."""
        ...

    def reset_timeout(self, delivery: Delivery[Any], /) -> None:
        """Start the time of the delivery's tree anew."""
        ...


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a task knows of itself and of its topology.

    topology, component: their names. task_id: unique in the topology. task_index: 0 to task_count - 1.
    conf: the options in force for this component. log: a structlog logger with component and task bound.
    """

    topology: str
    component: ComponentId
    task_id: TaskId
    task_index: int
    task_count: int
    conf: Conf
    log: Any = field(repr=False)
    _tasks_of: Callable[[ComponentId], tuple[TaskId, ...]] = field(repr=False)
    _wake: Callable[[], None] = field(repr=False)
    _stop: Callable[[], None] = field(repr=False)

    def tasks_of(self, component: ComponentId) -> tuple[TaskId, ...]:
        """The ids of the tasks of a component. Raises ``KeyError`` for a component that does not exist."""
        return self._tasks_of(component)

    def wake(self) -> None:
        """Ask this spout now, where it is idle. From any thread; does nothing for a bolt."""
        self._wake()

    def stop(self) -> None:
        """Drain and end the topology; returns at once. From any thread."""
        self._stop()
