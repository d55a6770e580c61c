"""Every kind of spout, and everything its handlers may ask for."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fsshelter_py import (
    END,
    Bolt,
    ComponentError,
    DeadLetter,
    Emit,
    NackReason,
    Shuffle,
    Spout,
    TaskContext,
    TopologyFailedError,
    run_no_restart,
)
from fsshelter_py.testing import CollectBolt, TopologyHarness, run_to_end
from tests.shapes import PLACEMENTS, Number, linked, numbers


def answering(*answers: Any) -> Callable[[TaskContext], Any]:
    """A ``next`` that gives these answers, then END."""
    left = list(answers)
    return lambda ctx: left.pop(0) if left else END


def fail_odd() -> Bolt:
    return CollectBolt[Number](fail_when=lambda t: t.n % 2 == 1).bolt


Call = tuple[Any, ...]


def handlers(signature: str, calls: list[Call]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(ack, nack) of a signature that a user may write."""
    match signature:
        case "id":
            return lambda key: calls.append(("ack", key)), lambda key: calls.append(("nack", key))
        case "id, reason":
            return lambda key: calls.append(("ack", key)), lambda key, why: calls.append(("nack", key, why.kind))
        case "tuple by name":

            def ack(key: int, *, tuple: Number) -> None:
                calls.append(("ack", key, tuple))

            def nack(key: int, reason: NackReason, tuple: Number) -> None:
                calls.append(("nack", key, reason.kind, tuple))

            return ack, nack
        case "keywords only":

            def ack_tuple(key: int, *, tuple: Number) -> None:
                calls.append(("ack", key, tuple))

            def nack_tuple(key: int, *, tuple: Number, reason: NackReason) -> None:
                calls.append(("nack", key, reason.kind, tuple))

            return ack_tuple, nack_tuple
        case "id, tuple":

            def ack_both(key: int, tuple: Number) -> None:
                calls.append(("ack", key, tuple))

            def nack_both(key: int, tuple: Number) -> None:
                calls.append(("nack", key, tuple))

            return ack_both, nack_both
        case "coroutines":

            async def ack_async(key: int) -> None:
                calls.append(("ack", key))

            async def nack_async(key: int, reason: NackReason) -> None:
                calls.append(("nack", key, reason.kind))

            return ack_async, nack_async
    raise AssertionError(signature)


EXPECTED: dict[str, list[Call]] = {
    "id": [("ack", 0), ("nack", 1)],
    "id, reason": [("ack", 0), ("nack", 1, "failed")],
    "tuple by name": [("ack", 0, Number(0)), ("nack", 1, "failed", Number(1))],
    "keywords only": [("ack", 0, Number(0)), ("nack", 1, "failed", Number(1))],
    "id, tuple": [("ack", 0, Number(0)), ("nack", 1, Number(1))],
    "coroutines": [("ack", 0), ("nack", 1, "failed")],
}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("signature", EXPECTED)
def test_handlers_are_given_what_their_signatures_ask_for(signature: str, placement: str) -> None:
    """The id always, the reason and the tuple where there is a parameter for them."""
    calls: list[Call] = []
    spout = Spout.run_reliable(
        answering((0, Number(0)), (1, Number(1))), make_acker=lambda ctx: handlers(signature, calls)
    )
    run_to_end(linked((spout, fail_odd()), placement=placement))
    assert sorted(calls) == EXPECTED[signature]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_coroutine_next_is_asked_one_at_a_time(placement: str) -> None:
    """And its handlers may be coroutine functions or not."""
    acked: list[int] = []
    left, asking = numbers(40), 0

    async def following(ctx: TaskContext) -> Any:
        nonlocal asking
        asking += 1
        assert asking == 1
        answer = (len(left), left.pop()) if left else END
        asking -= 1
        return answer

    spout = Spout.run_reliable(following, make_acker=lambda ctx: (acked.append, lambda key: None))
    sink = CollectBolt[Number]()
    assert run_to_end(linked((spout, sink.bolt), placement=placement)).ok
    assert sorted(acked) == list(range(1, 41))
    assert len(sink.tuples) == 40


@pytest.mark.parametrize("is_async", [False, True])
def test_nack_after_the_end_makes_the_spout_be_asked_again(is_async: bool) -> None:
    """What the handler puts back is emitted, however long the handler takes."""
    acked: list[int] = []
    left, tries = [Number(1)], [0]

    def following(ctx: TaskContext) -> Any:
        return (1, left.pop()) if left else END

    async def following_async(ctx: TaskContext) -> Any:
        return following(ctx)

    def nack(key: int, tuple: Number) -> None:
        left.append(tuple)

    async def nack_slowly(key: int, tuple: Number) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        left.append(tuple)

    def fail_twice(tuple_: Number, emit: Emit[None]) -> None:
        tries[0] += 1
        if tries[0] < 3:
            raise ValueError("again")

    spout = Spout.run_reliable(
        following_async if is_async else following,
        make_acker=lambda ctx: (acked.append, nack_slowly if is_async else nack),
    )
    summary = run_to_end(linked((spout, Bolt.run(fail_twice).with_executors(1))))
    assert acked == [1]
    assert summary.failed == 2
    assert summary.ok


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_unreliable_tuples_are_delivered_and_never_tracked(placement: str) -> None:
    """Many times max_spout_pending of them: nothing waits for an ack."""
    count = 100 * 8
    sink = CollectBolt[Number]()
    topology = linked(
        (Spout.run_unreliable(answering(*numbers(count))), sink.bolt.with_parallelism(2)),
        max_spout_pending=8,
        placement=placement,
    )
    summary = run_to_end(topology)
    assert sorted(t.n for t in sink.tuples) == list(range(count))
    assert (summary.emitted, summary.acked, summary.pending) == (count, 0, 0)
    assert summary.ok


def test_failure_of_an_untracked_tuple_is_told_by_the_summary() -> None:
    """No spout answers for it."""
    summary = run_to_end(linked((Spout.run_unreliable(answering(*numbers(4))), fail_odd())))
    assert summary.unresolved == 2
    assert not summary.ok


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_replaying_emits_again_until_acked(placement: str) -> None:
    """Every tuple that fails at first is handled in the end."""
    seen: dict[int, int] = {}
    lock = threading.Lock()

    def fail_at_first(tuple_: Number, emit: Emit[None]) -> None:
        with lock:
            seen[tuple_.n] = seen.get(tuple_.n, 0) + 1
            if tuple_.n % 3 == 0 and seen[tuple_.n] < 3:
                raise ValueError("not yet")

    spout = Spout.replaying(lambda ctx: numbers(60), max_attempts=3)
    summary = run_to_end(linked((spout, Bolt.run(fail_at_first).with_parallelism(2)), placement=placement))
    assert {n: 3 if n % 3 == 0 else 1 for n in range(60)} == seen
    assert (summary.acked, summary.failed, summary.dead) == (60, 40, 0)
    assert summary.ok


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_dead_letters_go_to_their_subscriber(placement: str) -> None:
    """Each with the tuple, the attempts it had and the last reason; it is tracked like any other."""
    letters = CollectBolt[DeadLetter]()
    spout = Spout.replaying(lambda ctx: numbers(10), max_attempts=2)
    topology = linked((spout, fail_odd()), (spout, letters.bolt, Shuffle.on(DeadLetter)), placement=placement)
    summary = run_to_end(topology)
    assert sorted(letter.tuple.n for letter in letters.tuples) == [1, 3, 5, 7, 9]
    assert {letter.attempts for letter in letters.tuples} == {2}
    assert {letter.reason.component for letter in letters.tuples} == {"c1"}
    assert summary.dead == 5
    assert not summary.ok


def test_dead_letters_without_a_subscriber_are_counted() -> None:
    """The run ends, and says so."""
    summary = run_to_end(linked((Spout.replaying(lambda ctx: numbers(10), max_attempts=2), fail_odd())))
    assert (summary.dead, summary.failed, summary.acked) == (5, 10, 5)
    assert not summary.ok


def test_replay_waits_for_its_backoff() -> None:
    """The seconds, or what the function of the attempts gives, of the runtime's clock."""
    failing = CollectBolt[Number](fail_when=lambda t: True)
    spout = Spout.replaying(lambda ctx: numbers(1), backoff=lambda attempts: 10.0 * attempts)
    with TopologyHarness(linked((spout, failing.bolt))) as harness:
        for secs, attempts in ((0, 1), (9.9, 1), (0.2, 2), (19.7, 2), (0.3, 3)):
            harness.advance(secs)
            assert len(failing.tuples) == attempts


def test_replaying_closes_the_iterator_it_was_given() -> None:
    """A generator's finally runs when the spout is deactivated."""
    closed = threading.Event()

    def items(ctx: TaskContext) -> Iterator[Number]:
        try:
            while True:
                yield Number(1)
        finally:
            closed.set()

    sink = CollectBolt[Number]()
    with run_no_restart(linked((Spout.replaying(items), sink.bolt))):
        sink.wait_for(10)
    assert closed.wait(0)


@pytest.mark.parametrize("answer", [lambda: 1 / 0, lambda: Number(1), lambda: (1, 2, 3)])
def test_next_that_raises_or_answers_nonsense_fails_the_topology(answer: Callable[[], Any]) -> None:
    """The error names the component."""
    spout = Spout.run_reliable(lambda ctx: answer())
    with pytest.raises(TopologyFailedError, match="c0") as caught:
        run_to_end(linked((spout, fail_odd())))
    assert isinstance(caught.value.__cause__, ComponentError)


def test_idle_spout_is_asked_when_woken() -> None:
    """Long before its wait is over."""
    arrived: list[Number] = []
    contexts: list[TaskContext] = []
    idle = threading.Event()

    def following(ctx: TaskContext) -> Number | None:
        contexts.append(ctx)
        if not arrived:
            idle.set()
            return None
        return arrived.pop()

    sink = CollectBolt[Number]()
    topology = linked((Spout.run_unreliable(following), sink.bolt), sleep_spout_wait_strategy_time_ms=3_600_000)
    with run_no_restart(topology):
        assert idle.wait(60)
        arrived.append(Number(7))
        contexts[0].wake()
        assert sink.wait_for(1) == [Number(7)]


def test_spout_is_not_asked_beyond_max_spout_pending_and_again_once_one_settles() -> None:
    """Eight deliveries are held; each ack lets in one more."""
    held: list[Any] = []
    answered = answering(*((n, Number(n)) for n in range(100)))
    bolt = Bolt.run_manual(lambda delivery, collector: held.append((delivery, collector)))
    with TopologyHarness(linked((Spout.run_reliable(answered), bolt), max_spout_pending=8)) as harness:
        harness.run_until_idle()
        assert len(held) == harness.stats().pending == 8
        for more in range(1, 4):
            delivery, collector = held[more - 1]
            collector.ack(delivery)
            harness.run_until_idle()
            assert len(held) == 8 + more
            assert harness.stats().pending == 8
