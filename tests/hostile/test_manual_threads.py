"""A manual bolt settled by other threads: none lost, none settled twice, and mistakes told where they are made."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

from fsshelter_py import Bolt, Collector, Delivery, DeliveryError, run_no_restart
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness, run_to_end
from tests.hostile.tools import NumberQueue, chained
from tests.shapes import Number, linked, numbers

Work = queue.SimpleQueue[Any]


def test_ten_threads_ack_a_hundred_thousand_tuples_and_none_is_lost() -> None:
    """Each thread takes deliveries off a queue, emits for some, fails a few, acks the rest."""
    work: Work = queue.SimpleQueue()

    def serve() -> None:
        while (item := work.get()) is not None:
            delivery, collector = item
            number = delivery.tuple.n
            if number % 10 == 0:
                collector.emit(delivery.tuple, [delivery])
            if number % 1000 == 1 and number not in failed:
                failed.add(number)
                collector.fail(delivery, "once")
            else:
                collector.ack(delivery)

    failed: set[int] = set()
    threads = [threading.Thread(target=serve) for _ in range(10)]
    for thread in threads:
        thread.start()
    source, sink = NumberQueue(100_000), CollectBolt[Number]()
    manual = Bolt.run_manual(lambda delivery, collector: work.put((delivery, collector)))
    with run_no_restart(chained(source.spout(), manual, sink.bolt, max_spout_pending=5000)) as hosted:
        summary = hosted.wait(100)
    for _ in threads:
        work.put(None)
    for thread in threads:
        thread.join()
    assert source.acks == dict.fromkeys(range(100_000), 1)
    assert len(source.nacks) == len(failed) == 100
    assert len(sink.tuples) == 10_000
    assert (summary.acked, summary.failed) == (100_000, 100)


@pytest.mark.parametrize("first", ["ack", "fail"])
@pytest.mark.parametrize("then", ["ack", "fail", "reset_timeout", "emit"])
def test_delivery_is_settled_once(first: str, then: str) -> None:
    """What comes second raises at that call, names the delivery, and leaves its tree and all others alone."""
    errors: list[str] = []

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        if first == "ack":
            collector.emit(delivery.tuple, [delivery])
        getattr(collector, first)(delivery)
        try:
            if then == "emit":
                collector.emit(delivery.tuple, [delivery])
            else:
                getattr(collector, then)(delivery)
        except DeliveryError as error:
            errors.append(str(error))

    source, sink = ListSpout(numbers(20)), CollectBolt[Number]()
    summary = run_to_end(chained(source.spout, Bolt.run_manual(consume), sink.bolt))
    assert len(errors) == 20
    assert f"{then}: " in errors[3]
    assert "Number(n=3)" in errors[3]
    assert "acked or failed before" in errors[3]
    assert (summary.acked, summary.failed) == ((20, 0) if first == "ack" else (0, 20))
    assert len(sink.tuples) == (20 if first == "ack" else 0)


def test_threads_that_race_to_settle_one_delivery_settle_it_once() -> None:
    """Of four that ack and fail it at the same moment, one is obeyed and three are told."""
    told: list[DeliveryError] = []

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        barrier = threading.Barrier(4)

        def settle(index: int) -> None:
            barrier.wait()
            try:
                if index % 2:
                    collector.ack(delivery)
                else:
                    collector.fail(delivery)
            except DeliveryError as error:
                told.append(error)

        for index in range(4):
            threading.Thread(target=settle, args=(index,)).start()

    source = ListSpout(numbers(100))
    summary = run_to_end(linked((source.spout, Bolt.run_manual(consume)), max_spout_pending=4))
    assert summary.acked + summary.failed == 100
    assert len(told) == 300


def test_emit_is_anchored_to_several_and_each_waits_for_it() -> None:
    """A join: what it emits for two deliveries fails both."""
    kept: list[Delivery[Number]] = []

    def consume(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        kept.append(delivery)
        if len(kept) == 2:
            collector.emit(Number(kept[0].tuple.n + kept[1].tuple.n), kept)
            for each in kept:
                collector.ack(each)
            kept.clear()

    def fail(number: Number) -> bool:
        return number.n == 5

    source, sink = ListSpout(numbers(6)), CollectBolt[Number](fail_when=fail)
    run_to_end(chained(source.spout, Bolt.run_manual(consume), sink.bolt))
    assert sorted(number.n for number, _ in source.nacked) == [2, 3]
    assert sorted(number.n for number in source.acked) == [0, 1, 4, 5]


def test_collector_refuses_everything_once_the_bolt_has_stopped() -> None:
    """A thread of the user's may outlive it."""
    kept: list[Any] = []
    source = ListSpout(numbers(1))
    with TopologyHarness(linked((source.spout, Bolt.run_manual(lambda d, c: kept.extend((d, c)))))) as harness:
        harness.run_until_idle()
        harness.stop(0)
        delivery, collector = kept
        for call in (collector.ack, collector.fail, collector.reset_timeout, collector.emit):
            with pytest.raises(DeliveryError, match="c1 has stopped"):
                call(delivery)
    assert [reason.kind for _, reason in source.nacked] == ["stopped"]


def test_deliveries_kept_for_ever_do_not_gather() -> None:
    """They expire, and the bolt's own memory of them goes too."""
    source = ListSpout(numbers(500))
    topology = linked((source.spout, Bolt.run_manual(lambda d, c: None)), message_timeout_secs=1, max_spout_pending=50)
    with TopologyHarness(topology) as harness:
        harness.run_to_end()
        [manual] = harness.runtime.bolt_tasks.values()
        assert manual.pending <= 150
    assert len(source.nacked) == 500
