"""A topology in words: its options, components, executors and streams."""

from __future__ import annotations

from collections.abc import Iterator

from fsshelter_py.build.assignment import Assignment, ExecutorPlan, assign
from fsshelter_py.conf import Conf
from fsshelter_py.model.component import Bolt, Spout
from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.topology import Topology

__all__ = ["describe"]


def describe(topology: Topology) -> str:
    """What will run: a text for people, whose form may change."""
    assignment = assign(topology)
    blocks = {
        f"topology {topology.name}": _options(topology.conf),
        "components": _components(topology, assignment),
        "executors": (_executor(plan, assignment) for plan in assignment.executors),
        "streams": map(str, topology.streams),
    }
    return "\n".join(line for title, lines in blocks.items() for line in (title, *(f"  {text}" for text in lines)))


def _options(conf: Conf) -> Iterator[str]:
    plain = dict(Conf().items())
    for key, value in conf.items():
        if key not in plain or plain[key] != value:
            yield f"{key} = {value!r}"


def _components(topology: Topology, assignment: Assignment) -> Iterator[str]:
    width = max((len(name) for name in (*topology.spouts, *topology.bolts)), default=0)
    for name, spout in topology.spouts.items():
        yield _component("spout", name.ljust(width), spout, assignment.tasks_of(name))
    for name, bolt in topology.bolts.items():
        yield _component("bolt ", name.ljust(width), bolt, assignment.tasks_of(name))


def _component(kind: str, name: str, component: Spout | Bolt, task_ids: tuple[int, ...]) -> str:
    options = "".join(f", {key}={value!r}" for key, value in component.conf.items())
    return f"{kind} {name}  {component.kind.value}, {_tasks(task_ids)}{options}"


def _executor(plan: ExecutorPlan, assignment: Assignment) -> str:
    served: dict[ComponentId, list[int]] = {}
    for task_id in plan.task_ids:
        served.setdefault(assignment.tasks[task_id].component, []).append(task_id)
    loop = " (event loop)" if plan.is_async else ""
    return f"{plan.name}{loop}: " + "; ".join(f"{name}, {_tasks(tuple(ids))}" for name, ids in served.items())


def _tasks(task_ids: tuple[int, ...]) -> str:
    return f"{'task' if len(task_ids) == 1 else 'tasks'} {', '.join(map(str, task_ids))}"
