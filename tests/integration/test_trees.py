"""When a source tuple is acked, when it is nacked, and what belongs to its tree."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from fsshelter_py import All, Bolt, Collector, Delivery, Emit, Shuffle, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness, run_to_end
from tests.shapes import PLACEMENTS, Letter, Number, linked, numbers


def forward(tuple_: Number, emit: Emit[Number]) -> None:
    emit(tuple_)


def blocked_on(*events: threading.Event) -> tuple[Bolt, threading.Semaphore]:
    """A bolt that waits for the event of its task, and what counts the calls it has entered."""
    entered = threading.Semaphore(0)

    def consume(event: threading.Event, tuple_: Number, emit: Emit[None]) -> None:
        entered.release()
        assert event.wait(60)

    return Bolt.run(consume, make_args=lambda ctx: events[ctx.task_index]).with_executors(len(events)), entered


def test_tuple_to_three_bolts_is_acked_only_when_all_are_done() -> None:
    """Two of the three are slow: nothing is acked until the second of them is done."""
    source, quick, go = ListSpout(numbers(1)), CollectBolt[Number](), (threading.Event(), threading.Event())
    (slow, entered), (slower, entered_too) = blocked_on(go[0]), blocked_on(go[1])
    topology = linked((source.spout, quick.bolt), (source.spout, slow), (source.spout, slower))
    with run_no_restart(topology) as hosted:
        quick.wait_for(1)
        assert entered.acquire(timeout=60)
        assert entered_too.acquire(timeout=60)
        assert source.acked == []
        go[0].set()
        with pytest.raises(TimeoutError):
            hosted.wait(0.05)
        assert source.acked == []
        go[1].set()
        assert hosted.wait(60).ok
    assert source.acked == numbers(1)


def test_all_grouping_over_four_tasks_acks_once_after_all_four() -> None:
    """Each of the four tasks is a delivery of its own."""
    source, go = ListSpout(numbers(1)), [threading.Event() for _ in range(4)]
    bolt, entered = blocked_on(*go)
    with run_no_restart(linked((source.spout, bolt.with_parallelism(4), All.on(Number)))) as hosted:
        for _ in go:
            assert entered.acquire(timeout=60)
        for event in go[:3]:
            event.set()
        with pytest.raises(TimeoutError):
            hosted.wait(0.05)
        assert source.acked == []
        go[3].set()
        summary = hosted.wait(60)
    assert source.acked == numbers(1)
    assert (summary.acked, summary.components["c1"].executed) == (1, 4)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_emit_that_nobody_subscribes_is_acked_at_once(placement: str) -> None:
    """Of a spout, and of a bolt inside a tree."""

    def emit_letters(tuple_: Number, emit: Emit[Any]) -> None:
        emit(Letter("nobody wants it"))

    source: ListSpout[Any] = ListSpout([Letter("lost"), *numbers(50)])
    run_to_end(linked((source.spout, Bolt.run(emit_letters).with_parallelism(2)), placement=placement))
    assert len(source.acked) == 51


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("ackers", [0, 1, 3])
def test_number_of_ackers_changes_nothing_for_what_succeeds(ackers: int, placement: str) -> None:
    """With none, tuples ack at once; with several, each tree has one of them."""
    source, sink = ListSpout(numbers(300)), CollectBolt[Number]()
    middle = Bolt.run(forward).with_parallelism(2)
    conf = {"acker_tasks": ackers, "acker_executors": max(1, ackers), "placement": placement}
    summary = run_to_end(linked((source.spout, middle), (middle, sink.bolt), **conf))
    assert summary.ok
    assert sorted(t.n for t in source.acked) == sorted(t.n for t in sink.tuples) == list(range(300))


@pytest.mark.parametrize("ackers", [1, 3])
def test_failures_are_nacked_by_whichever_acker(ackers: int) -> None:
    """Each failed tuple once, the others acked."""
    source, sink = ListSpout(numbers(300)), CollectBolt[Number](fail_when=lambda t: t.n % 7 == 0)
    middle = Bolt.run(forward).with_parallelism(2)
    run_to_end(linked((source.spout, middle), (middle, sink.bolt), acker_tasks=ackers, acker_executors=ackers))
    assert sorted(t.n for t, _ in source.nacked) == list(range(0, 300, 7))
    assert len(source.acked) + len(source.nacked) == 300


def test_without_ackers_failures_are_counted_though_every_tuple_is_acked() -> None:
    """Nobody tracks them, so the summary must tell."""
    source, sink = ListSpout(numbers(10)), CollectBolt[Number](fail_when=lambda t: t.n == 3)
    summary = run_to_end(linked((source.spout, sink.bolt), acker_tasks=0))
    assert len(source.acked) == 10
    assert summary.unresolved == 1
    assert not summary.ok


MIDDLES: dict[str, Callable[[], Bolt]] = {}


def middle(make: Callable[[], Bolt]) -> Callable[[], Bolt]:
    MIDDLES[make.__name__] = make
    return make


@middle
def sync() -> Bolt:
    return Bolt.run(forward)


@middle
def coroutine() -> Bolt:
    async def consume(tuple_: Number, emit: Emit[Number]) -> None:
        emit(tuple_)

    return Bolt.run(consume).with_concurrency(3)


@middle
def batched() -> Bolt:
    def consume(tuples: list[Number], emit: Emit[Number]) -> None:
        for tuple_ in tuples:
            emit(tuple_)

    return Bolt.run_batched(consume, max_size=1, max_wait=1)


@middle
def manual() -> Bolt:
    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        collector.emit(delivery.tuple, anchors=[delivery])
        collector.ack(delivery)

    return Bolt.run_manual(consume)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("kind", MIDDLES)
def test_what_is_emitted_on_an_anchored_stream_joins_the_tree(kind: str, placement: str) -> None:
    """Where the stream into the emitter is anchored, a failure further on nacks the source tuple, on any executor."""
    source, sink = ListSpout(numbers(20)), CollectBolt[Number](fail_when=lambda t: t.n < 5)
    worker = MIDDLES[kind]()
    run_to_end(linked((source.spout, worker), (worker, sink.bolt), placement=placement))
    assert sorted(t.n for t, _ in source.nacked) == list(range(5))
    assert sorted(t.n for t in source.acked) == list(range(5, 20))
    assert {reason.component for _, reason in source.nacked} == {"c2"}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("kind", MIDDLES)
def test_what_is_emitted_on_an_unanchored_stream_does_not(kind: str, placement: str) -> None:
    """Then only the failure further on is counted, and the source tuple is acked."""
    source, sink = ListSpout(numbers(20)), CollectBolt[Number](fail_when=lambda t: t.n < 5)
    worker = MIDDLES[kind]()
    topology = linked((source.spout, worker, Shuffle.on(Number).unanchored()), (worker, sink.bolt), placement=placement)
    summary = run_to_end(topology)
    assert sorted(t.n for t in source.acked) == list(range(20))
    assert summary.components["c2"].failed == summary.unresolved == 5


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_delivery_on_an_unanchored_stream_counts_itself(placement: str) -> None:
    """If the receiver of the unanchored stream fails, the tree does."""
    source, sink = ListSpout(numbers(20)), CollectBolt[Number](fail_when=lambda t: t.n < 5)
    grouping = Shuffle.on(Number).unanchored()
    run_to_end(linked((source.spout, sink.bolt.with_parallelism(2), grouping), placement=placement))
    assert sorted(t.n for t, _ in source.nacked) == list(range(5))


def test_failure_and_completion_in_one_turn_is_a_failure() -> None:
    """What a batch emitted fails on its own executor while the batch itself is done: the nack must win."""
    source, sink = ListSpout(numbers(6)), CollectBolt[Number](fail_when=lambda t: t.n == 4)

    def emit_all(tuples: list[Number], emit: Emit[Number]) -> None:
        for tuple_ in tuples:
            emit(tuple_)

    worker = Bolt.run_batched(emit_all, max_size=3, max_wait=1)
    with TopologyHarness(linked((source.spout, worker), (worker, sink.bolt), placement="shared")) as harness:
        harness.run_to_end()
    assert [t.n for t, _ in source.nacked] == [3, 4, 5]
    assert [t.n for t in source.acked] == [0, 1, 2]


def test_what_was_emitted_before_a_failure_is_delivered() -> None:
    """A bolt that raises takes nothing back."""
    source, sink = ListSpout(numbers(3)), CollectBolt[Number]()

    def emit_and_fail(tuple_: Number, emit: Emit[Number]) -> None:
        emit(tuple_)
        raise ValueError(tuple_)

    worker = Bolt.run(emit_and_fail)
    run_to_end(linked((source.spout, worker), (worker, sink.bolt)))
    assert sink.tuples == numbers(3)
    assert len(source.nacked) == 3
    assert isinstance(source.nacked[0][1].error, ValueError)


@pytest.mark.parametrize("error", [ValueError, SystemExit, TimeoutError, KeyboardInterrupt])
def test_whatever_user_code_raises_fails_its_tuple_only(error: type[BaseException]) -> None:
    """The task goes on with the next one."""

    def consume(tuple_: Number, emit: Emit[None]) -> None:
        if tuple_.n == 1:
            raise error("user's")

    source = ListSpout(numbers(3))
    run_to_end(linked((source.spout, Bolt.run(consume))))
    ((tuple_, reason),) = source.nacked
    assert tuple_ == Number(1)
    assert type(reason.error) is error
    assert reason.error.__traceback__ is not None
