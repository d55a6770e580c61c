"""Tasks are numbered and placed: each on one executor, as placement and the components ask for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py import Bolt, Spout, Topology
from fsshelter_py.build.assignment import Assignment, assign
from fsshelter_py.model.ids import ACKER, SYSTEM


def consume(word: Any, emit: Any) -> None:
    pass


async def consume_async(word: Any, emit: Any) -> None:
    pass


SPOUT = Spout.replaying(lambda ctx: [])
SYNC, ASYNC = Bolt.run(consume), Bolt.run(consume_async)


def assigned(bolts: dict[str, Bolt], **options: Any) -> Assignment:
    return assign(Topology("t", {"spout": SPOUT}, bolts, (), options))


def placed(assignment: Assignment) -> dict[str, list[str]]:
    """Executor to the components of its tasks."""
    return {plan.name: [assignment.tasks[i].component for i in plan.task_ids] for plan in assignment.executors}


def test_tasks_are_numbered_in_order() -> None:
    """System, ackers, spouts, bolts as declared."""
    assignment = assigned({"b": SYNC.with_parallelism(2), "a": SYNC}, acker_tasks=2)
    assert [task.component for task in assignment.tasks.values()] == [SYSTEM, ACKER, ACKER, "spout", "b", "b", "a"]
    assert list(assignment.tasks) == list(range(7))
    assert [(assignment.tasks[i].index, assignment.tasks[i].count) for i in (4, 5)] == [(0, 2), (1, 2)]
    assert assignment.tasks_of("b") == (4, 5)


def test_a_component_without_tasks_is_a_key_error() -> None:
    """An unknown one, and the ackers where there are none."""
    assignment = assigned({"a": SYNC}, acker_tasks=0)
    for name in ("nobody", ACKER):
        with pytest.raises(KeyError):
            assignment.tasks_of(name)


def test_auto_shares_single_tasks_and_spreads_the_rest() -> None:
    """A component of more tasks blocks, so it has a thread a task; async ones share an event loop."""
    bolts = {"one": SYNC, "two": SYNC.with_parallelism(2), "io": ASYNC.with_parallelism(2), "io2": ASYNC}
    assignment = assigned(bolts)
    assert placed(assignment) == {
        "system": [SYSTEM],
        "shared": [ACKER, "spout", "one"],
        "async": ["io", "io", "io2"],
        "two-0": ["two"],
        "two-1": ["two"],
    }
    assert {plan.name for plan in assignment.executors if plan.is_async} == {"async"}


def test_shared_puts_every_sync_task_on_one_executor() -> None:
    """Async ones still have their event loop."""
    bolts = {"two": SYNC.with_parallelism(2), "io": ASYNC}
    assert placed(assigned(bolts, placement="shared")) == {
        "system": [SYSTEM],
        "shared": [ACKER, "spout", "two", "two"],
        "async": ["io"],
    }


def test_per_task_gives_each_its_own() -> None:
    """FsShelter's default; the ackers have as many threads as they ask for."""
    bolts = {"two": SYNC.with_parallelism(2), "io": ASYNC}
    assignment = assigned(bolts, placement="per-task", acker_tasks=3, acker_executors=2)
    assert placed(assignment) == {
        "system": [SYSTEM],
        "__acker-0": [ACKER, ACKER],
        "__acker-1": [ACKER],
        "spout-0": ["spout"],
        "two-0": ["two"],
        "two-1": ["two"],
        "io-0": ["io"],
    }
    assert {plan.name for plan in assignment.executors if plan.is_async} == {"io-0"}


@pytest.mark.parametrize("placement", ["auto", "shared", "per-task"])
def test_executors_of_its_own_win_over_any_placement(placement: str) -> None:
    """Tasks are dealt out evenly; an async component gets event loops."""
    bolts = {"five": SYNC.with_parallelism(5).with_executors(2), "io": ASYNC.with_parallelism(2).with_executors(1)}
    assignment = assigned(bolts, placement=placement)
    found = placed(assignment)
    assert (found["five-0"], found["five-1"], found["io-0"]) == (["five"] * 3, ["five"] * 2, ["io"] * 2)
    assert {plan.name for plan in assignment.executors if plan.is_async} == {"io-0"}


def test_several_acker_executors_leave_the_shared_one() -> None:
    """Asking for more than one means threads of their own, and never more than there are ackers."""
    found = placed(assigned({"one": SYNC}, acker_tasks=2, acker_executors=3))
    assert found["shared"] == ["spout", "one"]
    assert (found["__acker-0"], found["__acker-1"]) == ([ACKER], [ACKER])
    assert "__acker-2" not in found


def test_no_executor_is_without_tasks() -> None:
    """Nothing shared, no shared executor."""
    assignment = assigned({"two": SYNC.with_parallelism(2)}, placement="per-task", acker_tasks=0)
    assert list(placed(assignment)) == ["system", "spout-0", "two-0", "two-1"]


@st.composite
def _components(draw: st.DrawFn) -> dict[str, Bolt]:
    bolts: dict[str, Bolt] = {}
    for index in range(draw(st.integers(0, 5))):
        tasks = draw(st.integers(1, 6))
        bolt = draw(st.sampled_from([SYNC, ASYNC])).with_parallelism(tasks)
        executors = draw(st.none() | st.integers(1, tasks))
        bolts[f"b{index}"] = bolt if executors is None else bolt.with_executors(executors)
    return bolts


@given(
    bolts=_components(),
    placement=st.sampled_from(["auto", "shared", "per-task"]),
    acker_tasks=st.integers(0, 4),
    acker_executors=st.integers(1, 4),
)
def test_every_task_is_on_exactly_one_executor(
    bolts: dict[str, Bolt], placement: str, acker_tasks: int, acker_executors: int
) -> None:
    """Whatever is asked for: counts are right, names unique, loads even, and no sync task runs on an event loop."""
    assignment = assigned(bolts, placement=placement, acker_tasks=acker_tasks, acker_executors=acker_executors)
    served = [task_id for plan in assignment.executors for task_id in plan.task_ids]
    assert sorted(served) == list(assignment.tasks) == list(range(len(served)))
    assert len({plan.name for plan in assignment.executors}) == len(assignment.executors)
    assert all(plan.task_ids for plan in assignment.executors)

    counts = Counter(task.component for task in assignment.tasks.values())
    expected = {SYSTEM: 1, ACKER: acker_tasks, "spout": 1} | {name: bolt.parallelism for name, bolt in bolts.items()}
    assert counts == Counter({name: count for name, count in expected.items() if count})
    for task in assignment.tasks.values():
        assert task.count == counts[task.component]
        assert assignment.tasks_of(task.component)[task.index] == task.task_id

    for plan in assignment.executors:
        components = {assignment.tasks[i].component for i in plan.task_ids}
        assert all((name in bolts and bolts[name].consume is consume_async) == plan.is_async for name in components)
    for name, bolt in bolts.items():
        if bolt.executors is not None:
            loads = [len(plan.task_ids) for plan in assignment.executors if plan.name.startswith(f"{name}-")]
            assert len(loads) == bolt.executors
            assert max(loads) - min(loads) <= 1


# --- worker processes -----------------------------------------------------------------------------------------------


def test_tasks_are_dealt_out_over_workers() -> None:
    """A component of one task, and every spout, stays in the main process; each process has a share of the others."""
    spouts = {"s": SPOUT.with_parallelism(3)}
    bolts = {"one": SYNC, "two": SYNC.with_parallelism(2), "five": SYNC.with_parallelism(5)}
    assignment = assign(Topology("t", spouts, bolts, (), {"workers": 3}))
    assert assignment.workers == 3
    of = assignment.worker_of
    assert [of[i] for i in assignment.tasks_of("s")] == [0, 0, 0]
    assert [of[i] for i in assignment.tasks_of("one")] == [0]
    assert [of[i] for i in assignment.tasks_of("two")] == [0, 1]
    assert [of[i] for i in assignment.tasks_of("five")] == [0, 1, 2, 0, 1]
    assert [of[i] for i in assignment.tasks_of(SYSTEM)] == [0, 1, 2]
    assert [of[i] for i in assignment.tasks_of(ACKER)] == [0]


def test_spread_spouts_take_ackers_with_them() -> None:
    """As many for each process as ``acker_tasks`` says."""
    spouts = {"s": SPOUT.with_parallelism(2).with_conf(spout_workers="spread")}
    topology = Topology("t", spouts, {"b": SYNC.with_parallelism(3)}, (), {"workers": 3, "acker_tasks": 2})
    assignment = assign(topology)
    of = assignment.worker_of
    assert [of[i] for i in assignment.tasks_of("s")] == [0, 1]
    assert [of[i] for i in assignment.tasks_of(ACKER)] == [0, 1, 0, 1]


def test_no_more_workers_are_used_than_have_something_to_do() -> None:
    """Two tasks at most of anything; none where all is single."""
    assert assigned({"a": SYNC.with_parallelism(2), "b": SYNC}, workers=8).workers == 2
    assert assigned({"a": SYNC}, workers=8).workers == 1
    assert (
        assign(Topology("t", {"s": SPOUT}, {"a": SYNC.with_parallelism(3)}, (), {"workers": 3}), workers=1).workers == 1
    )


def test_share_of_one_task_shares_the_process_executor() -> None:
    """With as many tasks as processes each process runs them in one thread; with more each has its own."""
    bolts = {"two": SYNC.with_parallelism(2), "four": SYNC.with_parallelism(4), "io": ASYNC.with_parallelism(2)}
    assert placed(assigned(bolts, workers=2)) == {
        "system": [SYSTEM],
        "shared": [ACKER, "spout", "two"],
        "async": ["io"],
        "four-0": ["four"],
        "four-1": ["four"],
        "system@1": [SYSTEM],
        "shared@1": ["two"],
        "async@1": ["io"],
        "four-0@1": ["four"],
        "four-1@1": ["four"],
    }


def test_threads_asked_for_are_spread_over_workers() -> None:
    """Each process that has tasks has one at least."""
    names = list(placed(assigned({"a": SYNC.with_parallelism(6).with_executors(3)}, workers=2)))
    assert [name for name in names if name.startswith("a-")] == ["a-0", "a-1", "a-0@1"]


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_every_task_is_on_one_executor_of_one_process(workers: int, first: int, second: int, spread: bool) -> None:
    """Whatever the numbers; no process that is used is without tasks."""
    spout = SPOUT.with_parallelism(second).with_conf(spout_workers="spread" if spread else "main")
    bolts = {"a": SYNC.with_parallelism(first), "b": ASYNC.with_parallelism(second)}
    assignment = assign(Topology("t", {"s": spout}, bolts, (), {"workers": workers}))
    assert sorted(i for plan in assignment.executors for i in plan.task_ids) == list(assignment.tasks)
    users = [i for i, task in assignment.tasks.items() if task.component not in (SYSTEM, ACKER)]
    assert {assignment.worker_of[i] for i in users} == set(range(assignment.workers))
    assert len({plan.name for plan in assignment.executors}) == len(assignment.executors)
