"""Mistakes that user code makes easily: each is told of, and changes nothing else."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fsshelter_py import (
    END,
    Bolt,
    Collector,
    ComponentError,
    Delivery,
    Emit,
    EmitError,
    Spout,
    TopologyFailedError,
    run,
    run_no_restart,
    topology,
)
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness
from tests.shapes import Number, linked, numbers


@pytest.mark.parametrize("has_next", [True, False])
def test_emit_after_consume_has_returned_joins_no_tree_and_is_counted(has_next: bool) -> None:
    """It is found at the next input or when the bolt is deactivated: nobody can tell what it was emitted for."""
    answers: list[Any] = [(1, Number(1)), None, *[(2, Number(2))] * has_next, END]
    emitters: list[Emit[Number]] = []

    def keep(_: Number, emit: Emit[Number]) -> None:
        emitters.append(emit)

    bolt, last = Bolt.run(keep).with_name("late"), CollectBolt[Number]()
    spout = Spout.run_reliable(lambda _: answers.pop(0) if len(answers) > 1 else END)
    with TopologyHarness(linked((spout, bolt), (bolt, last.bolt))) as harness:
        harness.run_until_idle()
        emitters[0](Number(7))
        emitters[0].direct(1, Number(8))
        summary = harness.run_to_end()
    assert last.tuples == []
    assert summary.acked == 1 + has_next
    assert summary.components["late"].failed == 0
    assert summary.components["late"].acked == 1 + has_next
    assert summary.components["late"].unresolved == summary.unresolved == 2
    assert not summary.ok


def test_emits_of_other_threads_before_consume_returns_belong_to_its_input() -> None:
    """A bolt may have a pool work for it, as long as it waits."""

    def emit_elsewhere(number: Number, emit: Emit[Number]) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(emit, numbers(20, start=number.n)))

    source, last = ListSpout(numbers(30)), CollectBolt[Number]()
    bolt = Bolt.run(emit_elsewhere)
    summary = run_no_restart(linked((source.spout, bolt), (bolt, last.bolt))).wait(30)
    assert summary.ok
    assert len(last.tuples) == 600


def test_debug_mode_refuses_emits_of_other_threads() -> None:
    """At once, where the mistake is: later they would join whatever is handled by then."""
    refused: list[BaseException] = []

    def emit_elsewhere(number: Number, emit: Emit[Number]) -> None:
        def late() -> None:
            for late_emit in (emit, lambda late_number: emit.direct(1, late_number)):
                try:
                    late_emit(number)
                except EmitError as error:
                    refused.append(error)

        thread = threading.Thread(target=late)
        thread.start()
        thread.join()

    source, last = ListSpout(numbers(3)), CollectBolt[Number]()
    bolt = Bolt.run(emit_elsewhere)
    summary = run_no_restart(linked((source.spout, bolt), (bolt, last.bolt), debug=True)).wait(30)
    assert summary.ok
    assert last.tuples == []
    assert len(refused) == 6
    assert "another thread" in str(refused[0])


def test_manual_bolt_that_raises_after_it_has_settled_is_counted() -> None:
    """Its tree is acked by then, so only the summary can tell."""

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        collector.ack(delivery)
        collector.emit(delivery.tuple, anchors=[delivery])

    source, last = ListSpout(numbers(3)), CollectBolt[Number]()
    bolt = Bolt.run_manual(consume)
    summary = run_no_restart(linked((source.spout, bolt), (bolt, last.bolt))).wait(30)
    assert summary.acked == 3
    assert summary.unresolved == 3
    assert not summary.ok


def test_manual_bolt_counts_as_acked_what_it_acked() -> None:
    """What it was handed and has not settled is pending, no more."""
    held: list[tuple[Any, Any]] = []
    both = threading.Event()

    def keep(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        held.append((delivery, collector))
        if len(held) == 2:
            both.set()

    bolt = Bolt.run_manual(keep).with_name("keeper")
    with run_no_restart(linked((ListSpout(numbers(2)).spout, bolt))) as hosted:
        assert both.wait(30)
        assert hosted.stats().components["keeper"].acked == 0
        for delivery, collector in held:
            collector.ack(delivery)
        assert hosted.wait(30).components["keeper"].acked == 2


@pytest.mark.parametrize(
    "spout",
    [
        Spout.replaying(lambda ctx: ["text"]),
        Spout.run_unreliable(lambda ctx: "text"),
        Spout.run_reliable(lambda ctx: (1, "text")),
    ],
)
def test_spout_that_emits_what_is_no_tuple_fails_the_topology(spout: Spout) -> None:
    """No replay would mend it."""
    with pytest.raises(TopologyFailedError) as caught:
        run_no_restart(linked((spout, CollectBolt[Number]().bolt))).wait(30)
    assert isinstance(caught.value.__cause__, ComponentError)
    assert "no tuple class" in str(caught.value)


def test_topology_function_that_was_not_called_is_told_apart() -> None:
    """The message says to call it."""

    @topology("forgotten")
    def forgotten() -> Any:
        yield

    with pytest.raises(TypeError, match="call the topology function"):
        run(forgotten)  # type: ignore[arg-type]
