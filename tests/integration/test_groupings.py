"""Every grouping, as the tuples arrive."""

from collections import Counter
from collections.abc import Sequence

import pytest

from fsshelter_py import (
    All,
    Bolt,
    Collector,
    Custom,
    Delivery,
    Direct,
    Emit,
    Global,
    Group,
    Grouping,
    GroupingError,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
    TaskContext,
)
from fsshelter_py.testing import CollectBolt, ListSpout, run_to_end
from tests.shapes import PLACEMENTS, Number, linked, numbers


def delivered(grouping: Grouping, count: int = 120, tasks: int = 4, *, placement: str = "auto") -> dict[int, list[int]]:
    """What each task of the receiver is handed, by task id; every tuple must be acked."""
    source, sink = ListSpout(numbers(count)), CollectBolt[Number]()
    topology = linked((source.spout, sink.bolt.with_parallelism(tasks), grouping), placement=placement)
    assert run_to_end(topology).ok
    assert len(source.acked) == count
    by_task: dict[int, list[int]] = {}
    for task_id, tuple_ in sink.received:
        by_task.setdefault(task_id, []).append(tuple_.n)
    return by_task


def every(by_task: dict[int, list[int]]) -> list[int]:
    return sorted(n for ns in by_task.values() for n in ns)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_shuffle_gives_every_task_the_same_number(placement: str) -> None:
    """Each tuple to one of them."""
    by_task = delivered(Shuffle.on(Number), placement=placement)
    assert {len(ns) for ns in by_task.values()} == {30}
    assert every(by_task) == list(range(120))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("by_function", [False, True])
def test_group_sends_equal_keys_to_one_task(by_function: bool, placement: str) -> None:
    """By a field or by a function of the tuple."""
    grouping = Group.by(Number, key=lambda t: t.n % 10) if by_function else Group.by(Number, "n")
    by_task = delivered(grouping, placement=placement)
    tasks_of_key = Counter(key for ns in by_task.values() for key in {n % 10 if by_function else n for n in ns})
    assert set(tasks_of_key.values()) == {1}
    assert len(by_task) > 1
    assert every(by_task) == list(range(120))


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_all_gives_every_task_every_tuple(placement: str) -> None:
    """And each of them acks."""
    by_task = delivered(All.on(Number), placement=placement)
    assert [sorted(ns) for ns in by_task.values()] == [list(range(120))] * 4


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_global_gives_everything_to_the_first_task(placement: str) -> None:
    """The one with the lowest id."""
    ((task_id, ns),) = delivered(Global.on(Number), placement=placement).items()
    assert sorted(ns) == list(range(120))
    assert task_id == 3  # after the system task, the acker and the spout


def test_local_or_shuffle_stays_on_the_executor_where_it_can() -> None:
    """On a shared executor like a shuffle; where nothing is local, too."""
    for placement in PLACEMENTS:
        by_task = delivered(LocalOrShuffle.on(Number), placement=placement)
        assert {len(ns) for ns in by_task.values()} == {30}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_partial_key_gives_each_key_at_most_two_tasks(placement: str) -> None:
    """One key alone is shared evenly by its two."""
    by_task = delivered(PartialKey.by(Number, key=lambda t: 7), placement=placement)
    assert sorted(len(ns) for ns in by_task.values()) == [60, 60]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_custom_sends_where_it_says(placement: str) -> None:
    """To no task, to one or to several; each counts."""

    def choose(tuple_: Number, tasks: Sequence[int]) -> list[int]:
        return list(tasks[: tuple_.n % 5])

    by_task = delivered(Custom.on(Number, choose), placement=placement)
    assert [len(ns) for _, ns in sorted(by_task.items())] == [96, 72, 48, 24]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_direct_goes_to_the_task_named(placement: str) -> None:
    """From a sync bolt, a coroutine and a manual one; a plain emit on the stream goes nowhere."""

    def sync(ctx: TaskContext, tuple_: Number, emit: Emit[Number]) -> None:
        tasks = ctx.tasks_of("sink")
        emit.direct(tasks[tuple_.n % len(tasks)], tuple_)
        emit(Number(-1))

    async def coroutine(ctx: TaskContext, tuple_: Number, emit: Emit[Number]) -> None:
        sync(ctx, tuple_, emit)

    def manual(ctx: TaskContext, delivery: Delivery[Number], collector: Collector[Number]) -> None:
        tasks = ctx.tasks_of("sink")
        collector.emit(delivery.tuple, [delivery], task_id=tasks[delivery.tuple.n % len(tasks)])
        collector.ack(delivery)

    for bolt in (
        Bolt.run(sync, make_args=lambda ctx: ctx),
        Bolt.run(coroutine, make_args=lambda ctx: ctx),
        Bolt.run_manual(manual, make_args=lambda ctx: ctx),
    ):
        source, sink = ListSpout(numbers(60)), CollectBolt[Number](fail_when=lambda t: t.n == 13)
        named = sink.bolt.with_parallelism(3).with_name("sink")
        run_to_end(linked((source.spout, bolt), (bolt, named, Direct.on(Number)), placement=placement))
        assert sorted(t.n for t in sink.tuples) == list(range(60))
        assert {(task_id - min(t for t, _ in sink.received), t.n % 3) for task_id, t in sink.received} == {
            (0, 0),
            (1, 1),
            (2, 2),
        }
        assert [t.n for t, _ in source.nacked] == [13]


def test_direct_emit_to_a_task_that_does_not_subscribe_fails_the_tuple() -> None:
    """The reason names the component and the tasks there are."""

    def consume(tuple_: Number, emit: Emit[Number]) -> None:
        emit.direct(99, tuple_)

    source, sink, bolt = ListSpout(numbers(1)), CollectBolt[Number](), Bolt.run(consume)
    run_to_end(linked((source.spout, bolt), (bolt, sink.bolt, Direct.on(Number))))
    ((_, reason),) = source.nacked
    assert isinstance(reason.error, GroupingError)
    assert "99" in str(reason.error)
    assert reason.component == "c1"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_key_of_no_stable_hash_fails_its_tuple_and_no_other(placement: str) -> None:
    """Emitted by a spout: it is nacked."""
    source, sink = ListSpout(numbers(10)), CollectBolt[Number]()
    grouping = Group.by(Number, key=lambda t: object() if t.n == 4 else t.n)
    run_to_end(linked((source.spout, sink.bolt.with_parallelism(2), grouping), placement=placement))
    ((tuple_, reason),) = source.nacked
    assert tuple_ == Number(4)
    assert isinstance(reason.error, GroupingError)
    assert sorted(t.n for t in sink.tuples) == [n for n in range(10) if n != 4]
