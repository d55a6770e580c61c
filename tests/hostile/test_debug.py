"""Debug mode: every tuple is logged, and one that is changed after its emit is reported."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from fsshelter_py import Bolt, Collector, Delivery, Direct, Emit, Shuffle, Spout, run_no_restart, run_with
from fsshelter_py.execute.debug_flow import DebugFlow
from fsshelter_py.execute.flow import Flow
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness
from tests.hostile.tools import Log, NumberQueue
from tests.shapes import PLACEMENTS, Number, linked, numbers


@dataclass
class Cart:
    n: int
    items: list[str] = field(default_factory=list)
    owner: str = "nobody"


def carts(count: int) -> list[Cart]:
    return [Cart(n) for n in range(count)]


def look(cart: Cart, emit: Emit[None]) -> None:
    """Look and do not touch."""


def add(cart: Cart, emit: Emit[None]) -> None:
    cart.items.append("mine")


def forward(cart: Cart, emit: Emit[Cart]) -> None:
    emit(Cart(cart.n))


def forward_and_add(cart: Cart, emit: Emit[Cart]) -> None:
    sent = Cart(cart.n)
    emit(sent)
    sent.items.append("one more")


def run_logged(*links: Any, **conf: Any) -> list[dict[str, Any]]:
    log = Log()
    with run_with(log.start_log, linked(*links, **{"debug": True, **conf})) as hosted:
        assert hosted.wait(30).ok
    return log.named("tuple_changed_after_emit")


async def add_async(cart: Cart, emit: Emit[None]) -> None:
    cart.items.append("mine")


def add_batch(batch: list[Cart], emit: Emit[None]) -> None:
    for cart in batch:
        cart.items.append("mine")


def add_manual(delivery: Delivery[Cart], collector: Collector[None]) -> None:
    delivery.tuple.items.append("mine")
    collector.ack(delivery)


ADDING = {
    "sync": lambda: Bolt.run(add),
    "async": lambda: Bolt.run(add_async),
    "batched": lambda: Bolt.run_batched(add_batch, max_size=2, max_wait=1),
    "manual": lambda: Bolt.run_manual(add_manual),
}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("kind", ADDING)
def test_receiver_that_changes_a_tuple_is_named(kind: str, placement: str) -> None:
    """With the stream and the field, once for each tuple."""
    source = ListSpout(carts(6))
    changed = run_logged((source.spout, ADDING[kind](), Shuffle.on(Cart)), placement=placement)
    assert len(changed) == 6
    for entry in changed:
        assert (entry["level"], entry["component"], entry["emitted_by"]) == ("error", "c1", "c0")
        assert (entry["stream"], entry["fields"]) == ("Cart", ["items"])
        assert entry["seen"] == "while it was handled"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_bolt_that_changes_what_it_has_emitted_is_named(placement: str) -> None:
    """Before its function has returned."""
    source, between = ListSpout(carts(5)), Bolt.run(forward_and_add).with_parallelism(2)
    links = [(source.spout, between, Shuffle.on(Cart)), (between, Bolt.run(look), Shuffle.on(Cart))]
    changed = run_logged(*links, placement=placement)
    assert len(changed) == 5
    assert {(entry["component"], entry["seen"]) for entry in changed} == {("c1", "before its emitter returned")}


def test_change_made_on_the_way_is_seen_by_the_receiver() -> None:
    """The source keeps what it emitted, and changes it while it waits in a ring."""
    on_its_way, changed_it = threading.Event(), threading.Event()
    kept = carts(2)

    def wait_first(cart: Cart, emit: Emit[None]) -> None:
        if cart.n == 0:
            on_its_way.set()
            assert changed_it.wait(30)

    def change() -> None:
        assert on_its_way.wait(30)
        kept[1].owner = "somebody"
        changed_it.set()

    thread = threading.Thread(target=change)
    thread.start()
    source = ListSpout(kept)
    changed = run_logged((source.spout, Bolt.run(wait_first).with_executors(1), Shuffle.on(Cart)))
    thread.join()
    assert [(entry["fields"], entry["component"], entry["seen"]) for entry in changed] == [
        (["owner"], "c1", "before it was handled")
    ]


def test_manual_and_direct_emits_are_looked_at_too() -> None:
    """They come by other ways."""

    def manual(delivery: Delivery[Cart], collector: Collector[Cart]) -> None:
        sent = Cart(delivery.tuple.n)
        collector.emit(sent, [delivery])
        sent.owner = "somebody"
        collector.ack(delivery)

    def direct(ctx: Any, cart: Cart, emit: Emit[Cart]) -> None:
        sent = Cart(cart.n)
        emit.direct(ctx.tasks_of("c2")[0], sent)
        sent.owner = "somebody"

    source = ListSpout(carts(3))
    for bolt, by in (
        (Bolt.run_manual(manual), Shuffle.on(Cart)),
        (Bolt.run(direct, make_args=lambda ctx: ctx), Direct.on(Cart)),
    ):
        source = ListSpout(carts(3))
        changed = run_logged((source.spout, bolt, Shuffle.on(Cart)), (bolt, Bolt.run(look), by))
        assert [(entry["fields"], entry["component"]) for entry in changed] == [(["owner"], "c1")] * 3


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_what_nobody_changes_is_not_reported(placement: str) -> None:
    """Whatever the fields hold: what has no pickle is compared by what it prints, NaN is itself."""
    values = [threading.Lock(), lambda: 1, float("nan"), {"a": {1, 2}}, [object()], b"x", (1, [2])]
    source = ListSpout([Cart(n, [value]) for n, value in enumerate(values)])  # type: ignore[list-item]
    between = Bolt.run(lambda cart, emit: emit(cart)).with_parallelism(2)
    links = [(source.spout, between, Shuffle.on(Cart)), (between, CollectBolt[Cart]().bolt, Shuffle.on(Cart))]
    assert run_logged(*links, placement=placement, acker_tasks=2) == []
    assert len(source.acked) == len(values)


def test_every_tuple_is_logged() -> None:
    """When it is emitted and when it is received, with the stream, the component and the tuple."""
    log, source, between = Log(), ListSpout(carts(3)), Bolt.run(forward)
    topology = linked(
        (source.spout, between, Shuffle.on(Cart)), (between, Bolt.run(look), Shuffle.on(Cart)), debug=True
    )
    with TopologyHarness(topology, start_log=log.start_log) as harness:
        assert harness.run_to_end().ok
    emitted, received = log.named("tuple_emitted"), log.named("tuple_received")
    assert [entry["component"] for entry in emitted] == ["c0", "c1"] * 3
    assert [entry["component"] for entry in received] == ["c1", "c2"] * 3
    assert "Cart(n=2" in emitted[-1]["tuple"]
    assert {entry["stream"] for entry in emitted + received} == {"Cart"}


def test_debug_of_one_component_logs_that_one() -> None:
    """An option of the component, as any other."""
    log, source = Log(), ListSpout(carts(3))
    bolt = Bolt.run(look).with_conf(debug=True)
    with TopologyHarness(linked((source.spout, bolt, Shuffle.on(Cart))), start_log=log.start_log) as harness:
        harness.run_to_end()
    assert log.named("tuple_emitted") == []
    assert len(log.named("tuple_received")) == 3


def test_run_shows_the_tuples_on_stderr(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program has not set structlog up."""
    monkeypatch.setattr("structlog.is_configured", lambda: False)
    source = ListSpout(carts(2))
    run_no_restart(linked((source.spout, Bolt.run(look), Shuffle.on(Cart)), debug=True)).wait(30)
    assert "tuple_received" in capfd.readouterr().err


def test_without_debug_none_of_it_is_there() -> None:
    """The flow and the emitters are the plain ones, and what is emitted is the tuple itself."""
    for debug, flow in ((False, Flow), (True, DebugFlow)):
        topology = linked((ListSpout(numbers(1)).spout, CollectBolt[Number]().bolt), debug=debug)
        with TopologyHarness(topology) as harness:
            harness.run_to_end()
            assert {type(executor.flow) for executor in harness.runtime.executors} == {flow}
            [bolt] = harness.runtime.bolt_tasks.values()
            bolt.emit(Number(1))
            assert (type(bolt.emitted_now.pop()) is Number) is not debug


def test_failures_and_restarts_are_the_same_in_debug_mode() -> None:
    """Nothing but the log differs."""
    queue = NumberQueue(500)
    failed: set[int] = set()

    def consume(number: Number, emit: Emit[Number]) -> None:
        emit(number)
        if number.n % 5 == 0 and number.n not in failed:
            failed.add(number.n)
            raise ValueError("once")

    spout, sink = queue.spout(), CollectBolt[Number]()
    between = Bolt.run(consume).with_parallelism(2)
    with run_no_restart(linked((spout, between), (between, sink.bolt), debug=True)) as hosted:
        assert hosted.wait(30).acked == 500
    assert queue.acks == dict.fromkeys(range(500), 1)
    assert len(queue.nacks) == 100


def test_values_that_can_neither_be_hashed_nor_pickled_go_through() -> None:
    """Without debug mode, over rings, for a source whose ids cannot be hashed either."""
    values: list[Any] = [threading.Lock(), lambda: 1, {"a": [1]}, {1, 2}, (n for n in range(3))]
    waiting = [([n], Cart(n, [value])) for n, value in enumerate(values)]
    acked: list[list[int]] = []
    nacked: list[list[int]] = []

    def fail_last(cart: Cart, emit: Emit[Cart]) -> None:
        if cart.n == 4:
            raise ValueError("no")
        emit(cart)

    spout = Spout.run_reliable(
        lambda ctx: waiting.pop() if waiting else None,
        make_acker=lambda ctx: (acked.append, lambda tuple_id: nacked.append(tuple_id)),
    )
    between, sink = Bolt.run(fail_last).with_parallelism(2), CollectBolt[Cart]()
    with run_no_restart(
        linked((spout, between, Shuffle.on(Cart)), (between, sink.bolt.with_executors(1), Shuffle.on(Cart)))
    ) as hosted:
        sink.wait_for(4)
        summary = hosted.stop()
    assert sorted(acked) == [[0], [1], [2], [3]]
    assert nacked == [[4]]
    assert {id(cart.items[0]) for cart in sink.tuples} == {id(value) for value in values[:4]}
    assert summary.unresolved == 1
