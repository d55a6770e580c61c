"""Bolts that settle their deliveries by hand, from whatever thread."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fsshelter_py import Bolt, Collector, Delivery, DeliveryError, Group, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout, run_to_end
from tests.shapes import PLACEMENTS, Letter, Number, linked, numbers


@contextmanager
def worker_threads(count: int, work: Any) -> Iterator["queue.Queue[Any]"]:
    """Threads that do ``work`` with what is put in the queue."""
    jobs: queue.Queue[Any] = queue.Queue()

    def serve() -> None:
        while (job := jobs.get()) is not None:
            work(*job)

    threads = [threading.Thread(target=serve) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield jobs
    finally:
        for _ in threads:
            jobs.put(None)
        for thread in threads:
            thread.join(60)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_manual_deliveries_are_settled_from_other_threads(placement: str) -> None:
    """Emitted for, acked or failed, in whatever order the threads come to it."""

    def work(delivery: Delivery[Number], collector: Collector[Any]) -> None:
        n = delivery.tuple.n
        collector.emit(Letter("whole", n), anchors=[delivery])
        if n % 10 == 3:
            collector.fail(delivery, f"not {n}")
        else:
            collector.ack(delivery)

    with worker_threads(3, work) as jobs:

        def consume(delivery: Delivery[Number], collector: Collector[Any]) -> None:
            jobs.put((delivery, collector))

        source = ListSpout(numbers(500))
        sink = CollectBolt[Letter](fail_when=lambda letter: letter.n % 10 == 4)
        bolt = Bolt.run_manual(consume).with_parallelism(2)
        topology = linked(
            (source.spout, bolt), (bolt, sink.bolt.with_parallelism(2), Group.by(Letter, "n")), placement=placement
        )
        run_to_end(topology)
    assert sorted(t.n for t, _ in source.nacked) == sorted(n for n in range(500) if n % 10 in (3, 4))
    assert len(source.acked) == 400
    assert sorted(letter.n for letter in sink.tuples) == list(range(500))
    reasons = {t.n: reason for t, reason in source.nacked}
    assert "not 3" in str(reasons[3].error)
    assert reasons[4].component == "c2"


def test_manual_emit_joins_the_trees_of_all_its_anchors() -> None:
    """One tuple for two deliveries: where it fails, both are nacked."""
    held: list[Delivery[Number]] = []

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        held.append(delivery)
        if len(held) == 2:
            collector.emit(Number(sum(d.tuple.n for d in held)), anchors=held)
            for one in held:
                collector.ack(one)
            held.clear()

    bolt = Bolt.run_manual(consume)
    for placement in PLACEMENTS:
        source, sink = ListSpout(numbers(8)), CollectBolt[Number](fail_when=lambda t: t.n == 5)
        run_to_end(linked((source.spout, bolt), (bolt, sink.bolt), placement=placement))
        assert [t.n for t in sink.tuples] == [1, 5, 9, 13]
        assert sorted(t.n for t, _ in source.nacked) == [2, 3]


def test_manual_delivery_is_settled_once() -> None:
    """A second ack, a fail, an emit or a reset for it raises and leaves its tree alone."""
    errors: list[DeliveryError] = []

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        collector.ack(delivery)
        attempts: list[Callable[[], None]] = [
            lambda: collector.ack(delivery),
            lambda: collector.fail(delivery),
            lambda: collector.reset_timeout(delivery),
            lambda: collector.emit(delivery.tuple, anchors=[delivery]),
        ]
        for again in attempts:
            try:
                again()
            except DeliveryError as error:
                errors.append(error)

    source = ListSpout(numbers(3))
    assert run_to_end(linked((source.spout, Bolt.run_manual(consume)))).ok
    assert len(errors) == 12
    assert "settled once" in str(errors[0])


def test_manual_consume_that_raises_fails_its_delivery_unless_settled() -> None:
    """Settled first, the error changes nothing for the tree."""

    def consume(delivery: Delivery[Number], collector: Collector[None]) -> None:
        if delivery.tuple.n == 0:
            collector.ack(delivery)
        raise ValueError("after all")

    source = ListSpout(numbers(2))
    run_to_end(linked((source.spout, Bolt.run_manual(consume))))
    assert [t.n for t in source.acked] == [0]
    assert [t.n for t, _ in source.nacked] == [1]


def test_collector_refuses_once_its_bolt_has_stopped() -> None:
    """Whoever still holds it is told."""
    held: list[tuple[Delivery[Number], Collector[Number]]] = []
    arrived = threading.Event()

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        held.append((delivery, collector))
        arrived.set()

    source = ListSpout(numbers(1))
    hosted = run_no_restart(linked((source.spout, Bolt.run_manual(consume))))
    assert arrived.wait(60)
    hosted.stop(timeout=0)
    delivery, collector = held[0]
    with pytest.raises(DeliveryError, match="has stopped"):
        collector.ack(delivery)
    assert [reason.kind for _, reason in source.nacked] == ["stopped"]
