"""Which tasks a topology has, and which process and which executor serves each."""

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
    """One thread of one worker process, and the tasks it serves; with ``is_async`` it serves them on an event loop."""

    name: str
    task_ids: tuple[TaskId, ...]
    is_async: bool = False
    worker: int = 0


@dataclass(frozen=True, slots=True)
class Assignment:
    """Every task of a topology, on one executor each.

    Task ids count from 0: a system task for each worker process, the ackers, then spouts and bolts as declared.
    workers: how many processes there are; 0 is the main one.
    """

    tasks: Mapping[TaskId, TaskPlan]
    executors: tuple[ExecutorPlan, ...]
    workers: int = 1

    def tasks_of(self, component: ComponentId) -> tuple[TaskId, ...]:
        """The ids of a component's tasks. Raises ``KeyError`` for a component that has none."""
        found = tuple(task.task_id for task in self.tasks.values() if task.component == component)
        if not found:
            raise KeyError(component)
        return found

    def components_of(self, worker: int) -> set[ComponentId]:
        """The components that have a task in a worker process, the runtime's own among them."""
        ids = (task_id for plan in self.executors if plan.worker == worker for task_id in plan.task_ids)
        return {self.tasks[task_id].component for task_id in ids}

    @property
    def worker_of(self) -> dict[TaskId, int]:
        """The worker process of each task."""
        return {task_id: plan.worker for plan in self.executors for task_id in plan.task_ids}


def assign(topology: Topology, workers: int | None = None) -> Assignment:
    """Number the topology's tasks, place them on worker processes, then on executors.

    workers: how many processes there may be, instead of what the topology's options say. No more are used than have
    something to do.

    A component of one task is in the main process, where its state can be looked at, and so are all tasks of a spout:
    its source may live there. The tasks of other components are dealt out, the first one to the main process; those of
    a spout too where its ``spout_workers`` is ``spread``. Ackers are where spouts are, so that only what leaves a
    process has to be told to another.

    The system task of each process has a thread of its own always: timers must tick however long user code holds the
    others.
    """
    conf = topology.conf
    components: dict[ComponentId, Spout | Bolt] = {**topology.spouts, **topology.bolts}
    limit = conf.workers if workers is None else workers
    spreads = {name: _spreads(topology, name) for name in components}
    used = max([min(limit, c.parallelism) for name, c in components.items() if spreads[name]], default=1)
    with_spouts = max([min(used, s.parallelism) for name, s in topology.spouts.items() if spreads[name]], default=1)
    counts = {SYSTEM: used, ACKER: conf.acker_tasks * with_spouts} | {n: c.parallelism for n, c in components.items()}
    dealt = {SYSTEM: used, ACKER: with_spouts} | {name: used if spreads[name] else 1 for name in components}
    tasks = {task.task_id: task for task in _numbered(counts)}

    executors: list[ExecutorPlan] = []
    for worker in range(used):
        shares: dict[ComponentId, list[TaskId]] = {name: [] for name in counts}
        for task in tasks.values():
            if task.index % dealt[task.component] == worker:
                shares[task.component].append(task.task_id)
        executors += _of_worker(worker, shares, topology, dealt)
    return Assignment(tasks, tuple(executors), used)


def _spreads(topology: Topology, name: ComponentId) -> bool:
    """Whether a component has tasks in several processes, where there are several."""
    if topology.component(name).parallelism == 1:
        return False
    return name in topology.bolts or topology.conf_of(name).spout_workers == "spread"


def _of_worker(
    worker: int,
    shares: Mapping[ComponentId, Sequence[TaskId]],
    topology: Topology,
    dealt: Mapping[ComponentId, int],
) -> list[ExecutorPlan]:
    """The executors of one process, as ``placement`` and the components ask for."""
    conf = topology.conf
    suffix = f"@{worker}" if worker else ""
    shared: list[TaskId] = []
    on_loop: list[TaskId] = []
    own: list[ExecutorPlan] = []

    def spread(name: ComponentId, executors: int, *, is_async: bool = False) -> None:
        ids = shares[name]
        count = min(executors, len(ids))
        own.extend(ExecutorPlan(f"{name}-{i}{suffix}", tuple(ids[i::count]), is_async, worker) for i in range(count))

    if conf.acker_executors > 1 or conf.placement == "per-task":
        spread(ACKER, conf.acker_executors)
    else:
        shared += shares[ACKER]
    for name in (*topology.spouts, *topology.bolts):
        component, ids = topology.component(name), shares[name]
        looped = is_async(component)
        alone = conf.placement == "per-task" or (conf.placement == "auto" and len(ids) > 1 and not looped)
        if component.executors is not None:
            spread(name, max(1, len(range(worker, component.executors, dealt[name]))), is_async=looped)
        elif alone:
            spread(name, len(ids), is_async=looped)
        elif looped:
            on_loop += ids
        else:
            shared += ids

    common = [
        ExecutorPlan(f"shared{suffix}", tuple(shared), worker=worker),
        ExecutorPlan(f"async{suffix}", tuple(on_loop), is_async=True, worker=worker),
    ]
    system = ExecutorPlan(f"system{suffix}", tuple(shares[SYSTEM]), worker=worker)
    return [system, *(plan for plan in common if plan.task_ids), *own]


def _numbered(counts: Mapping[ComponentId, int]) -> Iterator[TaskPlan]:
    task_id = 0
    for component, count in counts.items():
        for index in range(count):
            yield TaskPlan(task_id, component, index, count)
            task_id += 1
