"""Joining tasks: for each emitting task the legs of its streams, and what its full rings hold back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fsshelter_py.build.assignment import Assignment
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.leg import Leg, Outlet, Target
from fsshelter_py.execute.task import Task
from fsshelter_py.model.grouping import GroupingKind
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.topology import Stream, Topology
from fsshelter_py.route import make_grouper

__all__ = ["wire"]


def wire(topology: Topology, assignment: Assignment, tasks: Mapping[TaskId, Task]) -> None:
    """Give every task its legs and its upstream."""
    executor_of = {task_id: plan.name for plan in assignment.executors for task_id in plan.task_ids}
    streams: dict[str, list[Stream]] = defaultdict(list)
    for stream in topology.streams:
        streams[stream.source].append(stream)
    feeders: dict[TaskId, list[Task]] = defaultdict(list)
    for task in tasks.values():
        legs: dict[type[Any], list[Leg]] = defaultdict(list)
        for stream in streams[task.component]:
            leg = _leg(task, stream, assignment, tasks, executor_of)
            legs[stream.cls].append(leg)
            for target in leg.targets:
                if target.task is not None:
                    feeders[target.task.id].append(task)
        task.legs = {cls: tuple(of_class) for cls, of_class in legs.items()}
    for task in tasks.values():
        task.upstream = _closure(task, feeders)


def _leg(
    task: Task,
    stream: Stream,
    assignment: Assignment,
    tasks: Mapping[TaskId, Task],
    executor_of: Mapping[TaskId, str],
) -> Leg:
    ids = assignment.tasks_of(stream.target)
    targets = []
    local = []
    for index, task_id in enumerate(ids):
        receiver = tasks[task_id]
        assert isinstance(receiver, BoltTask)
        assert receiver.channel is not None
        if executor_of[task_id] == executor_of[task.id]:
            targets.append(Target(receiver, None))
            local.append(index)
        else:
            targets.append(Target(None, Outlet(task, receiver.channel)))
    kind = stream.grouping.kind
    split = None
    if len(ids) > 1 or kind in (GroupingKind.DIRECT, GroupingKind.CUSTOM):
        split = make_grouper(
            stream.grouping,
            source=stream.source,
            stream=stream.id,
            target=stream.target,
            tasks=ids,
            local=local,
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


def _closure(task: Task, feeders: Mapping[TaskId, list[Task]]) -> tuple[Task, ...]:
    found = {task.id: task}
    fresh = [task]
    while fresh:
        for feeder in feeders.get(fresh.pop().id, ()):
            if feeder.id not in found:
                found[feeder.id] = feeder
                fresh.append(feeder)
    return tuple(found.values())
