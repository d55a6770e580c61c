"""Joining tasks: for each emitting task the legs of its streams, and what its full rings hold back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeAlias

from fsshelter_py.build.assignment import Assignment
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.leg import Leg, Outlet, Sink, Target
from fsshelter_py.execute.task import Task
from fsshelter_py.model.grouping import GroupingKind
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.topology import Stream, Topology
from fsshelter_py.route import make_grouper

__all__ = ["SinkAbroad", "wire"]

SinkAbroad: TypeAlias = Callable[[Task, Stream, TaskId], Sink]
"""``sink(task, stream, target)``: what takes the task's tuples of a stream for a task of another process."""


def wire(topology: Topology, assignment: Assignment, tasks: Mapping[TaskId, Task], abroad: SinkAbroad) -> None:
    """Give every task its legs and its upstream. ``tasks`` are those of this process; ``abroad`` leads to the rest."""
    wiring = _Wiring(assignment, tasks, abroad)
    legs: dict[TaskId, dict[type, list[Leg]]] = {task_id: defaultdict(list) for task_id in tasks}
    for stream in topology.streams:
        for task_id in assignment.tasks_of(stream.source):
            if task_id in tasks:
                legs[task_id][stream.cls].append(wiring.leg(tasks[task_id], stream))
    feeders: dict[TaskId, list[Task]] = defaultdict(list)
    for task_id, by_class in legs.items():
        tasks[task_id].legs = {cls: tuple(of_class) for cls, of_class in by_class.items()}
        for leg in (leg for of_class in by_class.values() for leg in of_class):
            for target in leg.targets:
                if target.task is not None:
                    feeders[target.task.id].append(tasks[task_id])
    for task in tasks.values():
        task.upstream = _closure(task, feeders)
        task.onward = {
            cls: (legs[0].single.task, legs[0])
            for cls, legs in task.legs.items()
            if len(legs) == 1 and legs[0].single is not None and legs[0].single.task is not None
        }


class _Wiring:
    """Makes legs."""

    def __init__(self, assignment: Assignment, tasks: Mapping[TaskId, Task], abroad: SinkAbroad) -> None:
        self._assignment = assignment
        self._tasks = tasks
        self._abroad = abroad
        self._executor_of = {task_id: plan.name for plan in assignment.executors for task_id in plan.task_ids}

    def leg(self, task: Task, stream: Stream) -> Leg:
        """A task's leg of a stream."""
        ids = self._assignment.tasks_of(stream.target)
        targets = [self._target(task, stream, task_id) for task_id in ids]
        kind = stream.grouping.kind
        split = None
        if len(ids) > 1 or kind in (GroupingKind.DIRECT, GroupingKind.CUSTOM):
            same_executor = [index for index, target in enumerate(targets) if target.task is not None]
            same_process = [index for index, task_id in enumerate(ids) if task_id in self._tasks]
            split = make_grouper(
                stream.grouping,
                source=stream.source,
                stream=stream.id,
                target=stream.target,
                tasks=ids,
                local=same_executor or same_process,
                offset=task.context.task_index % len(ids),
            )
        return Leg(
            stream.id,
            stream.source,
            anchored=stream.anchored,
            targets=targets,
            target_ids=ids,
            split=split,
            direct=kind is GroupingKind.DIRECT,
        )

    def _target(self, task: Task, stream: Stream, task_id: TaskId) -> Target:
        receiver = self._tasks.get(task_id)
        if receiver is None:
            return Target(None, Outlet(task, self._abroad(task, stream, task_id)))
        assert isinstance(receiver, BoltTask)
        assert receiver.channel is not None
        if self._executor_of[task_id] == self._executor_of[task.id]:
            return Target(receiver, None)
        return Target(None, Outlet(task, receiver.channel))


def _closure(task: Task, feeders: Mapping[TaskId, list[Task]]) -> tuple[Task, ...]:
    found = {task.id: task}
    fresh = [task]
    while fresh:
        for feeder in feeders.get(fresh.pop().id, ()):
            if feeder.id not in found:
                found[feeder.id] = feeder
                fresh.append(feeder)
    return tuple(found.values())
