"""Advice on placement: said once, of what was true for three windows, and of the right thing."""

from __future__ import annotations

from fsshelter_py.host.advice import Advisor, ExecutorSample


def _shared(busy: float, cpu: float, queued: float = 0.0, **waits: float) -> ExecutorSample:
    return ExecutorSample("shared", busy, cpu, queued, True, waits)


def test_waiting_bolt_on_shared_executor_is_named_once() -> None:
    """A bolt that waits while it holds a shared thread is named, with what to change, and only once."""
    advisor = Advisor()
    sample = _shared(1.0, 0.05, split=0.1, fetch=0.95)
    said = [advisor.observe([sample], 1.0) for _ in range(6)]
    assert [len(advice) for advice in said] == [0, 0, 1, 0, 0, 0]
    assert said[2][0].subject == "fetch"
    assert "with_executors" in said[2][0].hint


def test_threads_that_have_one_core_between_them_are_named() -> None:
    """Busy threads that use one core together fight for the interpreter."""
    advisor = Advisor()
    samples = [ExecutorSample(f"count-{i}", 1.0, 0.5, 0.0, False, {}) for i in range(2)]
    said = [advisor.observe(samples, 1.0) for _ in range(3)]
    assert [advice.event for advice in said[2]] == ["threads_fight_for_interpreter"]


def test_without_an_interpreter_lock_there_is_nothing_to_fight_for() -> None:
    """Threads that use one core together then just have no more to do."""
    advisor = Advisor(has_lock=False)
    samples = [ExecutorSample(f"count-{i}", 1.0, 0.5, 0.0, False, {}) for i in range(2)]
    assert not any(advisor.observe(samples, 1.0) for _ in range(5))


def test_threads_that_wait_for_something_else_are_left_alone() -> None:
    """Bolts that block on I/O, each on a thread of its own, are as they should be."""
    advisor = Advisor()
    samples = [ExecutorSample(f"fetch-{i}", 1.0, 0.02, 0.0, False, {"fetch": 0.98}) for i in range(4)]
    assert not any(advisor.observe(samples, 1.0) for _ in range(5))


def test_what_is_true_now_and_then_is_not_spoken_of() -> None:
    """Advice needs three windows in a row."""
    advisor = Advisor()
    waits, works = _shared(1.0, 0.05, fetch=0.95), _shared(1.0, 0.95, fetch=0.05)
    assert not any(advisor.observe([sample], 1.0) for sample in [waits, waits, works] * 3)


def test_bolt_that_only_queues_for_a_processor_is_left_alone() -> None:
    """On a machine that others keep busy, a bolt that computes is not taken for one that waits."""
    advisor = Advisor()
    sample = _shared(1.0, 0.2, 0.75, compute=0.8)
    assert not any(advisor.observe([sample], 1.0) for _ in range(5))
