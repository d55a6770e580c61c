"""Why a tuple was nacked: the component, the task, the stream and the error reach the spout, wherever the tasks are."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from fsshelter_py import (
    Bolt,
    Collector,
    Custom,
    Delivery,
    DeliveryError,
    Emit,
    EmitError,
    Group,
    GroupingError,
    NackReason,
    Shuffle,
    run_no_restart,
)
from fsshelter_py.testing import ListSpout, TopologyHarness, run_to_end
from tests.hostile.tools import NEVER, until
from tests.shapes import PLACEMENTS, Letter, Number, linked, numbers


class OutOfPaperError(Exception):
    """An error of the user's own."""


def forward(number: Number, emit: Emit[Letter]) -> None:
    emit(Letter("a", number.n))


def fail(letter: Letter, emit: Emit[None]) -> None:
    raise OutOfPaperError(f"no paper for {letter.n}")


async def fail_async(letter: Letter, emit: Emit[None]) -> None:
    await asyncio.sleep(0)
    fail(letter, emit)


def fail_batch(letters: list[Letter], emit: Emit[None]) -> None:
    fail(letters[0], emit)


def fail_by_hand(delivery: Delivery[Letter], collector: Collector[None]) -> None:
    error = OutOfPaperError(f"no paper for {delivery.tuple.n}")
    threading.Thread(target=lambda: collector.fail(delivery, error)).start()


def fail_manual(delivery: Delivery[Letter], collector: Collector[None]) -> None:
    raise OutOfPaperError(f"no paper for {delivery.tuple.n}")


FAILING = {
    "sync": lambda: Bolt.run(fail),
    "async": lambda: Bolt.run(fail_async),
    "batched": lambda: Bolt.run_batched(fail_batch, max_size=1, max_wait=1),
    "by hand, from another thread": lambda: Bolt.run_manual(fail_by_hand),
    "manual, by raising": lambda: Bolt.run_manual(fail_manual),
}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("kind", FAILING)
def test_reason_names_component_task_stream_and_error(kind: str, parallelism: int, placement: str) -> None:
    """Over direct calls, and over rings of four."""
    source = ListSpout(numbers(6))
    between, failing = Bolt.run(forward).with_parallelism(2), FAILING[kind]().with_parallelism(parallelism)
    topology = linked((source.spout, between), (between, failing, Shuffle.on(Letter)), placement=placement)
    with run_no_restart(topology.with_conf(executor_receive_buffer_size=4)) as hosted:
        runtime_tasks = set(hosted._runtime.assignment.tasks_of("c2")) if hosted._runtime else None
        summary = hosted.wait(30)
    assert len(source.nacked) == 6
    for number, reason in source.nacked:
        assert (reason.kind, reason.component, reason.stream) == ("failed", "c2", "Letter")
        assert runtime_tasks is None or reason.task_id in runtime_tasks
        assert isinstance(reason.error, OutOfPaperError)
        assert str(reason.error) == f"no paper for {number.n}"
        if kind != "by hand, from another thread":
            assert reason.error.__traceback__ is not None
        assert f"failed in c2 (task {reason.task_id}) on stream Letter: OutOfPaperError: no paper" in str(reason)
    assert "OutOfPaperError" in summary.first_failures[0]
    assert (summary.components["c0"].failed, summary.components["c0"].timed_out) == (6, 0)


def test_first_of_several_failures_counts() -> None:
    """A tree that fails in two places is nacked once, with the first reason."""
    source = ListSpout(numbers(20))
    topology = linked((source.spout, Bolt.run(fail_number)), (source.spout, Bolt.run(fail_number).with_executors(1)))
    run_to_end(topology)
    assert len(source.nacked) == 20
    assert {reason.component for _, reason in source.nacked} <= {"c1", "c2"}


def fail_number(number: Number, emit: Emit[None]) -> None:
    raise OutOfPaperError


def test_terminator_says_that_it_is_one() -> None:
    """Its failures are no errors of its function."""
    source = ListSpout(numbers(2))
    run_to_end(linked((source.spout, Bolt.run_terminator(lambda number, emit: None))))
    assert "fails every tuple" in str(source.nacked[0][1])


def test_fail_with_a_text_or_with_nothing() -> None:
    """``collector.fail`` takes an exception, a text, or neither."""

    def consume(delivery: Delivery[Number], collector: Collector[None]) -> None:
        errors: list[Any] = [None, "too late", OutOfPaperError("x")]
        collector.fail(delivery, errors[delivery.tuple.n])

    source = ListSpout(numbers(3))
    run_to_end(linked((source.spout, Bolt.run_manual(consume))))
    errors = [reason.error for _, reason in source.nacked]
    assert [str(error) for error in errors] == ["failed by the bolt", "too late", "x"]
    assert [type(error) for error in errors] == [DeliveryError, DeliveryError, OutOfPaperError]


@pytest.mark.parametrize("raised", [ValueError, SystemExit, asyncio.CancelledError, KeyboardInterrupt])
@pytest.mark.parametrize("grouping", ["group", "custom"])
def test_grouping_that_raises_fails_the_tuple_and_names_who_emitted_it(
    grouping: str, raised: type[BaseException]
) -> None:
    """A key function, or a chooser, of the user's: no restart, whatever it raises."""

    def choose(*args: Any) -> Any:
        raise raised("cannot choose")

    source = ListSpout(numbers(2))
    by = Group.by(Number, key=choose) if grouping == "group" else Custom.on(Number, choose)
    run_to_end(linked((source.spout, NEVER.with_parallelism(2), by)))
    assert len(source.nacked) == 2
    for _, reason in source.nacked:
        assert (reason.kind, reason.component) == ("failed", "c0")
        assert reason.error is not None
        assert raised in (type(reason.error), type(reason.error.__cause__))


def test_what_cannot_be_emitted_or_routed_fails_its_input() -> None:
    """A tuple of no class, a key without a stable hash: the bolt that emitted it is named."""

    def consume(number: Number, emit: Emit[Any]) -> None:
        emit("a string" if number.n == 0 else Letter(object(), 1))  # type: ignore[arg-type]

    source, emitting = ListSpout(numbers(2)), Bolt.run(consume)
    run_to_end(linked((source.spout, emitting), (emitting, NEVER.with_parallelism(2), Group.by(Letter, "text"))))
    assert [type(reason.error) for _, reason in source.nacked] == [EmitError, GroupingError]
    assert {reason.component for _, reason in source.nacked} == {"c1"}


def test_handler_may_take_the_tuple_too() -> None:
    """A parameter named ``tuple`` is given the tuple that was emitted."""
    source = ListSpout(numbers(3))
    run_to_end(linked((source.spout, Bolt.run(fail_number))))
    assert [tuple_ for tuple_, _ in source.nacked] == numbers(3)


def test_error_that_cannot_be_printed_does_no_harm() -> None:
    """Its str() raises; so do the repr() of the tuple and of its id."""

    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

        __repr__ = __str__

    def consume(number: Number, emit: Emit[None]) -> None:
        raise UnprintableError

    source = ListSpout(numbers(3))
    with TopologyHarness(linked((source.spout, Bolt.run(consume)))) as harness:
        summary = harness.run_to_end()
    assert len(source.nacked) == 3
    assert "UnprintableError" in summary.first_failures[0]


def test_reasons_compare_by_what_they_say() -> None:
    """So that tests can."""
    assert NackReason("failed", "c", 1, ValueError()) == NackReason("failed", "c", 1, KeyError())
    assert NackReason("failed", "c", 1) != NackReason("timeout", "c", 1)


def test_stats_of_a_running_topology_show_the_failures() -> None:
    """Not only the summary at the end."""
    source = ListSpout(numbers(5))
    failing = Bolt.run(fail_number)
    with run_no_restart(linked((source.spout, failing), (source.spout, NEVER), max_spout_pending=5)) as hosted:
        until(lambda: hosted.stats().failed == 5)
        assert hosted.stats().components["c1"].failed == 5
        hosted.stop(0)


def test_the_summary_has_a_failure_of_each_kind_the_most_frequent_first() -> None:
    """What failed first may be a few bad records, when the last bolt fails every tuple."""

    def first(number: Number, emit: Emit[Number]) -> None:
        if number.n < 6:
            raise (KeyError if number.n % 2 else ValueError)("bad record")
        emit(number)

    def second(number: Number, emit: Emit[None]) -> None:
        raise ConnectionError("no database")

    one, two = Bolt.run(first).with_name("one"), Bolt.run(second).with_name("two")
    source = ListSpout(numbers(30)).spout
    summary = run_to_end(linked((source, one), (one, two)))
    assert len(summary.first_failures) == 3
    assert "failed in two" in summary.first_failures[0]
