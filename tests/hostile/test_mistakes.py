"""Mistakes that user code makes easily: each is told of, and changes nothing else."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from fsshelter_py import (
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
from fsshelter_py.testing import CollectBolt, ListSpout
from tests.shapes import Number, linked, numbers


def test_emit_from_another_thread_is_refused_and_joins_no_tree() -> None:
    """It would join whatever tree is being worked on by then."""
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
    summary = run_no_restart(linked((source.spout, bolt), (bolt, last.bolt))).wait(30)
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
