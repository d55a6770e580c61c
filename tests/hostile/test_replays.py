"""Replays: how often, when, and what becomes of a tuple that is given up. Time is the harness's clock throughout."""

from __future__ import annotations

from typing import Any

import pytest

from fsshelter_py import Bolt, DeadLetter, Emit, Shuffle, Spout, TaskContext
from fsshelter_py.testing import CollectBolt, TopologyHarness, run_to_end
from tests.hostile.tools import Log
from tests.shapes import PLACEMENTS, Number, linked, numbers


class Flaky:
    """A bolt that fails each number so many times, and remembers when it was handed each."""

    def __init__(self, failures: dict[int, int]) -> None:
        self.harness: TopologyHarness | None = None
        self.failures = failures
        self.times: dict[int, list[float]] = {}
        self.bolt = Bolt.run(self._consume)

    def _consume(self, number: Number, emit: Emit[Any]) -> None:
        times = self.times.setdefault(number.n, [])
        times.append(self.harness.clock.now() if self.harness else 0.0)
        if len(times) <= self.failures.get(number.n, 0):
            raise ConnectionError(f"attempt {len(times)}")


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_nacked_tuple_is_emitted_until_it_succeeds(placement: str) -> None:
    """For ever, where no number of attempts is given."""
    flaky = Flaky({0: 20, 3: 1})
    summary = run_to_end(linked((Spout.replaying(lambda ctx: numbers(5)), flaky.bolt), placement=placement))
    assert {n: len(times) for n, times in flaky.times.items()} == {0: 21, 1: 1, 2: 1, 3: 2, 4: 1}
    assert summary.ok
    assert (summary.emitted, summary.acked, summary.failed) == (26, 5, 21)


def test_backoff_is_kept_for_each_attempt() -> None:
    """A function of the attempts made: one second, then two, then three."""
    flaky = Flaky({0: 3})
    spout = Spout.replaying(lambda ctx: numbers(1), backoff=lambda attempts: float(attempts))
    with TopologyHarness(linked((spout, flaky.bolt))) as harness:
        flaky.harness = harness
        assert harness.run_to_end().ok
    waits = [later - sooner for sooner, later in zip(flaky.times[0], flaky.times[0][1:], strict=False)]
    assert waits == pytest.approx([1, 2, 3], abs=0.02)


def test_what_waits_for_its_backoff_does_not_hold_up_the_rest() -> None:
    """New tuples go on; those nacked come when they are due, before anything new."""
    flaky = Flaky({0: 1})
    with TopologyHarness(linked((Spout.replaying(lambda ctx: numbers(1000), backoff=10), flaky.bolt))) as harness:
        flaky.harness = harness
        harness.advance(1)
        assert len(flaky.times) == 1000
        assert len(flaky.times[0]) == 1
        assert harness.run_to_end().ok
    assert flaky.times[0][1] == pytest.approx(10, abs=0.02)


def test_waiting_replays_count_against_the_pending_ones() -> None:
    """Else an input of which everything fails would all be held in memory, waiting."""
    flaky = Flaky(dict.fromkeys(range(10_000), 1))
    spout = Spout.replaying(lambda ctx: numbers(10_000), backoff=1000)
    with TopologyHarness(linked((spout, flaky.bolt), max_spout_pending=50)) as harness:
        harness.advance(10)
        assert len(flaky.times) == 50


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_dead_letters_are_a_stream(placement: str) -> None:
    """After three attempts, with the last reason; the letter is a source tuple of its own, and acked."""
    flaky, letters = Flaky({1: 99, 4: 99, 2: 2}), CollectBolt[DeadLetter]()
    spout = Spout.replaying(lambda ctx: numbers(6), max_attempts=3)
    topology = linked((spout, flaky.bolt), (spout, letters.bolt, Shuffle.on(DeadLetter)), placement=placement)
    summary = run_to_end(topology)
    assert sorted(letter.tuple.n for letter in letters.tuples) == [1, 4]
    for letter in letters.tuples:
        assert letter.attempts == 3
        assert (letter.reason.kind, letter.reason.component, letter.reason.stream) == ("failed", "c1", "Number")
        assert str(letter.reason.error) == "attempt 3"
    assert summary.dead == 2
    assert not summary.ok
    assert summary.pending == 0


def test_dead_letter_that_nobody_subscribes_is_logged_and_counted() -> None:
    """It does not vanish."""
    flaky, log = Flaky({1: 99}), Log()
    topology = linked((Spout.replaying(lambda ctx: numbers(3), max_attempts=2), flaky.bolt))
    with TopologyHarness(topology, start_log=log.start_log) as harness:
        summary = harness.run_to_end()
    [entry] = log.named("dead_letter")
    assert (entry["level"], entry["attempts"], entry["component"]) == ("error", 2, "c0")
    assert "Number(n=1)" in entry["tuple"]
    assert "attempt 2" in entry["reason"]
    assert summary.dead == 1


def test_dead_letter_that_fails_too_is_replayed_and_then_logged() -> None:
    """Dead letters make no dead letters."""

    def refuse(letter: DeadLetter, emit: Emit[None]) -> None:
        raise ValueError("nobody wants it")

    log, spout = Log(), Spout.replaying(lambda ctx: numbers(1), max_attempts=2)
    topology = linked((spout, Flaky({0: 99}).bolt), (spout, Bolt.run(refuse), Shuffle.on(DeadLetter)))
    with TopologyHarness(topology, start_log=log.start_log) as harness:
        summary = harness.run_to_end()
    [entry] = log.named("dead_letter_lost")
    assert "nobody wants it" in entry["reason"]
    assert (summary.dead, summary.failed) == (1, 4)


def test_expired_tuple_is_replayed_like_a_failed_one() -> None:
    """A bolt that loses the first delivery of each, and acks the second."""
    seen: set[int] = set()

    def consume(delivery: Any, collector: Any) -> None:
        if delivery.tuple.n in seen:
            collector.ack(delivery)
        seen.add(delivery.tuple.n)

    spout = Spout.replaying(lambda ctx: numbers(10))
    with TopologyHarness(linked((spout, Bolt.run_manual(consume)), message_timeout_secs=5)) as harness:
        summary = harness.run_to_end()
    assert summary.ok
    assert summary.nacks == {"timeout": 10}


def test_items_may_say_that_there_is_nothing_now() -> None:
    """None in the iterable is a pause, not the end."""

    def items(ctx: TaskContext) -> Any:
        yield Number(1)
        yield None
        yield Number(2)

    sink = CollectBolt[Number]()
    assert run_to_end(linked((Spout.replaying(items), sink.bolt))).ok
    assert sink.tuples == [Number(1), Number(2)]
