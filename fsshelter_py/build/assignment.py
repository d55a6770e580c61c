"""Which tasks a topology has, and which executor serves each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fsshelter_py.build.callables import is_async
from fsshelter_py.model.component import Bolt, Spout
from fsshelter_py.model.ids import ACKER, SYSTEM, ComponentId, TaskId
from fsshelter_py.model.topology import Topology

__all__ = ["Assignment", "ExecutorPlan", "TaskPlan", "assign"]


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task: ``index`` of the ``count`` that its component has."""

    task_id: TaskId
    component: ComponentId
    index: int
    count: int


@dataclass(frozen=True, slots=True)
class ExecutorPlan:
    """One thread and the tasks it serves; with ``is_async`` it serves them on an event loop."""

    name: str
    task_ids: tuple[TaskId, ...]
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """Every task of a topology, on one executor each.

    Task ids count from 0: the system task, the ackers, then spouts and bolts in the order declared.
    """

    tasks: Mapping[TaskId, TaskPlan]
    executors: tuple[ExecutorPlan, ...]

    def tasks_of(self, component: ComponentId) -> tuple[TaskId, ...]:
        """The ids of a component's tasks. Raises ``KeyError`` for a component that has none."""
        found = tuple(task.task_id for task in self.tasks.values() if task.component == component)
        if not found:
            raise KeyError(component)
        return found


def assign(topology: Topology) -> Assignment:
    """Number the topology's tasks and place them on executors, as ``placement`` and the components ask for.

    The system task has a thread of its own always: timers must tick however long user code holds the others.
    """
    conf = topology.conf
    components: dict[ComponentId, Spout | Bolt] = {**topology.spouts, **topology.bolts}
    counts = {SYSTEM: 1, ACKER: conf.acker_tasks} | {name: c.parallelism for name, c in components.items()}
    tasks = {task.task_id: task for task in _numbered(counts)}
    ids: dict[ComponentId, list[TaskId]] = {name: [] for name in counts}
    for task in tasks.values():
        ids[task.component].append(task.task_id)

    shared: list[TaskId] = []
    on_loop: list[TaskId] = []
    own: list[ExecutorPlan] = []

    if conf.acker_executors > 1 or conf.placement == "per-task":
        own += _spread(ACKER, ids[ACKER], conf.acker_executors)
    else:
        shared += ids[ACKER]
    for name, component in components.items():
        looped = is_async(component)
        alone = conf.placement == "per-task" or (conf.placement == "auto" and component.parallelism > 1 and not looped)
        if component.executors is not None:
            own += _spread(name, ids[name], component.executors, is_async=looped)
        elif alone:
            own += _spread(name, ids[name], component.parallelism, is_async=looped)
        elif looped:
            on_loop += ids[name]
        else:
            shared += ids[name]

    common = [ExecutorPlan("shared", tuple(shared)), ExecutorPlan("async", tuple(on_loop), is_async=True)]
    return Assignment(
        tasks, (ExecutorPlan("system", tuple(ids[SYSTEM])), *(plan for plan in common if plan.task_ids), *own)
    )


def _numbered(counts: Mapping[ComponentId, int]) -> Iterator[TaskPlan]:
    task_id = 0
    for component, count in counts.items():
        for index in range(count):
            yield TaskPlan(task_id, component, index, count)
            task_id += 1


def _spread(
    component: ComponentId, task_ids: Sequence[TaskId], executors: int, *, is_async: bool = False
) -> list[ExecutorPlan]:
    """The tasks dealt out over that many executors, never more of them than there are tasks."""
    used = min(executors, len(task_ids))
    return [ExecutorPlan(f"{component}-{i}", tuple(task_ids[i::used]), is_async) for i in range(used)]
