"""From the start to the end of a run: activation, ticks, the end of the input, and the stop."""

import asyncio
import threading
from typing import Any

import pytest

from fsshelter_py import END, All, Bolt, Collector, Delivery, Emit, Spout, TaskContext, Tick, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness, run_to_end
from tests.shapes import PLACEMENTS, Number, chain_with_last_words, linked, numbers


def forever(ctx: TaskContext) -> Number:
    return Number(0)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_deactivation_goes_in_topological_order_with_what_it_emits_handled(placement: str) -> None:
    """A chain of three: what each emits when it stops passes all that come after it, which are not stopped yet."""
    topology, sink = chain_with_last_words(2, placement=placement)
    assert run_to_end(topology).ok
    texts = [letter.text for letter in sink.tuples]
    assert sorted(texts) == sorted(
        2 * ["off first: first second third", "off second: second third", "off third: third"]
    )


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_stop_handles_what_is_in_flight(placement: str) -> None:
    """Every tuple that an endless spout emitted is acked, none is nacked."""
    source, sink = ListSpout(numbers(200_000)), CollectBolt[Number]()
    with run_no_restart(linked((source.spout, sink.bolt.with_parallelism(2)), placement=placement)) as hosted:
        sink.wait_for(100)
        summary = hosted.stop()
    assert len(source.acked) == len(source.emitted) == summary.acked == len(sink.tuples)
    assert source.nacked == []
    assert summary.ok


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_stop_flushes_batches(placement: str) -> None:
    """They would wait for an hour."""
    arrived = threading.Event()
    answers = numbers(3)

    def following(ctx: TaskContext) -> Number | None:
        if not answers:
            arrived.set()
            return None
        return answers.pop()

    batches: list[int] = []
    bolt = Bolt.run_batched(lambda tuples, emit: batches.append(len(tuples)), max_size=100, max_wait=3600)
    with run_no_restart(linked((Spout.run_unreliable(following), bolt), placement=placement)):
        assert arrived.wait(60)
    assert batches == [3]


def test_what_cannot_be_drained_is_nacked_as_stopped_before_the_spout_is_deactivated() -> None:
    """The source loses nothing."""
    events: list[str] = []
    arrived = threading.Event()
    answers: list[Any] = [(n, Number(n)) for n in range(3)]

    def following(ctx: TaskContext) -> Any:
        if not answers:
            arrived.set()
            return None
        return answers.pop(0)

    spout = Spout.run_reliable(
        following,
        make_acker=lambda ctx: (
            lambda key: events.append(f"ack {key}"),
            lambda key, reason: events.append(f"{reason.kind} {key}"),
        ),
        deactivate=lambda ctx: events.append("deactivated"),
    )
    with run_no_restart(linked((spout, Bolt.run_manual(lambda delivery, collector: None)))) as hosted:
        assert arrived.wait(60)
        summary = hosted.stop(timeout=0)
    assert sorted(events[:3]) == ["stopped 0", "stopped 1", "stopped 2"]
    assert events[3:] == ["deactivated"]
    assert summary.nacks == {"stopped": 3}
    assert not summary.ok


def test_task_may_stop_the_topology() -> None:
    """ctx.stop() drains and ends it."""

    def consume(ctx: TaskContext, tuple_: Number, emit: Emit[None]) -> None:
        ctx.stop()

    bolt = Bolt.run(consume, make_args=lambda ctx: ctx)
    assert run_to_end(linked((Spout.run_unreliable(forever), bolt))).state == "stopped"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_no_thread_is_left(placement: str) -> None:
    """After the end, and after a stop in the middle."""

    def left() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("fsshelter")]

    async def coroutine(tuple_: Number, emit: Emit[None]) -> None:
        return None

    bolts = Bolt.run(coroutine), CollectBolt[Number]().bolt.with_parallelism(3)
    run_to_end(linked(*((ListSpout(numbers(9)).spout, bolt) for bolt in bolts), placement=placement))
    sink = CollectBolt[Number]()
    with run_no_restart(linked((Spout.run_unreliable(forever), sink.bolt), placement=placement)) as hosted:
        sink.wait_for(10)
    hosted.wait(60)
    for thread in threading.enumerate():
        if thread.name.startswith("fsshelter"):
            thread.join(60)  # the supervisor has told of the end and is about to return
    assert left() == []


def test_end_waits_for_every_spout_and_for_untracked_tuples() -> None:
    """One spout is reliable and done at once, the other not; a slow bolt holds an untracked tuple."""
    entered, leave = threading.Event(), threading.Event()

    def block(tuple_: Number, emit: Emit[Number]) -> None:
        if tuple_.n == 99:
            entered.set()
            assert leave.wait(60)
        emit(tuple_)

    answers: list[Any] = [Number(99)]
    source, sink = ListSpout(numbers(5)), CollectBolt[Number]()
    unreliable = Spout.run_unreliable(lambda ctx: answers.pop() if answers else END)
    bolt = Bolt.run(block).with_executors(1)
    with run_no_restart(linked((source.spout, bolt), (unreliable, bolt), (bolt, sink.bolt))) as hosted:
        assert entered.wait(60)
        with pytest.raises(TimeoutError):
            hosted.wait(0.05)
        leave.set()
        assert hosted.wait(60).ok
    assert sorted(t.n for t in sink.tuples) == [0, 1, 2, 3, 4, 99]


def _ticked(ticks: list[Any]) -> dict[str, Bolt]:
    def run(tuple_: Any, emit: Emit[None]) -> None:
        ticks.append(tuple_)

    async def coroutine(tuple_: Any, emit: Emit[None]) -> None:
        ticks.append(tuple_)

    def batch(tuples: list[Any], emit: Emit[None]) -> None:
        ticks.append(tuples)

    def manual(delivery: Delivery[Any], collector: Collector[None]) -> None:
        ticks.append(delivery.tuple)

    return {
        "run": Bolt.run(run),
        "coroutine": Bolt.run(coroutine),
        "batched": Bolt.run_batched(batch, max_size=10, max_wait=1),
        "manual": Bolt.run_manual(manual),
    }


@pytest.mark.parametrize("kind", ["run", "coroutine", "batched", "manual"])
def test_tick_tuples_come_when_due_and_do_not_drift(kind: str) -> None:
    """Every 10 s of the clock, in every kind of bolt; never in a batch with others."""
    ticks: list[Any] = []
    bolt = _ticked(ticks)[kind].with_conf(tick_tuple_freq_secs=10)
    with TopologyHarness(linked((Spout.run_unreliable(lambda ctx: None), bolt))) as harness:
        for _ in range(3):
            harness.advance(9.9)
        assert len(ticks) == 2
        harness.advance(0.3)
        expected = [Tick(1), Tick(2), Tick(3)]
        assert ticks == ([[tick] for tick in expected] if kind == "batched" else expected)
        assert harness.stop().ok


def test_one_tick_at_most_waits_for_a_busy_bolt() -> None:
    """A bolt stuck while five are due is handed one, whose number tells."""
    ticks: list[Tick] = []
    deliveries: list[Any] = []

    async def consume(tuple_: Any, emit: Emit[None]) -> None:
        if isinstance(tuple_, Tick):
            ticks.append(tuple_)
        else:
            await asyncio.sleep(55)
            deliveries.append(tuple_)

    bolt = Bolt.run(consume).with_conf(tick_tuple_freq_secs=10)
    with TopologyHarness(linked((ListSpout(numbers(1)).spout, bolt))) as harness:
        harness.advance(54)
        assert ticks == deliveries == []
        harness.advance(10)
        assert deliveries == numbers(1)
        assert [tick.number for tick in ticks] == [1, 6]


def test_tick_that_fails_nacks_nothing() -> None:
    """It belongs to no tree; the failure is counted."""

    def consume(tuple_: Any, emit: Emit[None]) -> None:
        if isinstance(tuple_, Tick):
            raise ValueError("no ticks please")

    source = ListSpout(numbers(2))
    with TopologyHarness(linked((source.spout, Bolt.run(consume).with_conf(tick_tuple_freq_secs=1)))) as harness:
        harness.advance(2.5)
        assert harness.stats().components["c1"].failed == 2
    assert len(source.acked) == 2


def test_tree_never_expires_early_nor_later_than_half_a_timeout_after() -> None:
    """Begun at any moment between two ticks."""
    for began in (0.0, 10.0, 29.9):
        answers: list[Number] = []
        source, held = _when_there(answers), Bolt.run_manual(lambda delivery, collector: None)
        with TopologyHarness(linked((source, held))) as harness:
            harness.advance(began)
            answers.append(Number(1))
            harness.advance(60.0)
            assert harness.stats().pending == 1
            harness.advance(30.2)
            assert harness.stats().nacks == {"timeout": 1}


def _when_there(answers: list[Number]) -> Spout:
    return Spout.run_reliable(lambda ctx: (1, answers.pop()) if answers else None)


def test_reset_timeout_keeps_a_tree_alive() -> None:
    """By the collector of a manual bolt; without it the tree would have expired twice over."""
    held: list[Any] = []
    bolt = Bolt.run_manual(lambda delivery, collector: held.append((delivery, collector)))
    source = ListSpout(numbers(1))
    with TopologyHarness(linked((source.spout, bolt))) as harness:
        harness.run_until_idle()
        ((delivery, collector),) = held
        for _ in range(5):
            harness.advance(50)
            collector.reset_timeout(delivery)
        assert source.nacked == []
        collector.ack(delivery)
        harness.run_until_idle()
    assert source.acked == numbers(1)


def test_tuples_of_every_placement_reach_every_task_after_activation() -> None:
    """A spout never emits before every bolt has begun."""
    began: set[int] = set()
    early: list[int] = []

    def make_args(ctx: TaskContext) -> TaskContext:
        began.add(ctx.task_id)
        return ctx

    def consume(ctx: TaskContext, tuple_: Number, emit: Emit[None]) -> None:
        if ctx.task_id not in began:
            early.append(ctx.task_id)

    for placement in PLACEMENTS:
        source = ListSpout(numbers(20))
        bolt = Bolt.run(consume, make_args=make_args).with_parallelism(5)
        summary = run_to_end(linked((source.spout, bolt, All.on(Number)), placement=placement))
        assert summary.ok
        assert (len(source.acked), summary.components["c1"].executed) == (20, 100)
    assert early == []
