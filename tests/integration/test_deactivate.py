"""A bolt closes what its make_args opened: once, at its end, whatever kind it is and whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fsshelter_py import Bolt, Collector, Delivery, Emit, Spout, TaskContext, TopologyError, run, run_no_restart
from fsshelter_py.testing import ListSpout, TopologyHarness
from tests.shapes import Number, linked, numbers


class Store:
    """Something opened, which must not be used once it is closed."""

    def __init__(self, made: list[Store]) -> None:
        made.append(self)
        self.kept: list[int] = []
        self.closed = 0

    def keep(self, number: Number) -> None:
        assert not self.closed
        self.kept.append(number.n)

    def close(self) -> None:
        self.closed += 1

    async def close_later(self) -> None:
        await asyncio.sleep(0)
        self.close()


def put(store: Store, number: Number, emit: Emit[Number]) -> None:
    store.keep(number)


async def put_async(store: Store, number: Number, emit: Emit[Number]) -> None:
    await asyncio.sleep(0)
    store.keep(number)


def put_all(store: Store, batch: list[Number], emit: Emit[Number]) -> None:
    for number in batch:
        store.keep(number)


def put_by_hand(store: Store, delivery: Delivery[Number], collector: Collector[Number]) -> None:
    store.keep(delivery.tuple)
    collector.ack(delivery)


def made_of(kind: str, make: Callable[[TaskContext], Store], close: Callable[[Store], object]) -> Bolt:
    if kind == "batched":
        return Bolt.run_batched(put_all, max_size=7, max_wait=5, make_args=make, deactivate=close)
    if kind == "by hand":
        return Bolt.run_manual(put_by_hand, make_args=make, deactivate=close)
    if kind == "terminator":
        return Bolt.run_terminator(put, make_args=make, deactivate=close)
    return Bolt.run(put if kind == "sync" else put_async, make_args=make, deactivate=close)


@pytest.mark.parametrize("close", [Store.close, Store.close_later])
@pytest.mark.parametrize("kind", ["sync", "async", "batched", "by hand", "terminator"])
def test_each_task_is_deactivated_once_after_all_that_it_was_handed(
    kind: str, close: Callable[[Store], object]
) -> None:
    """A coroutine function is awaited, also where the bolt itself is sync."""
    stores: list[Store] = []
    bolt = made_of(kind, lambda ctx: Store(stores), close).with_parallelism(3)
    spout = Spout.replaying(lambda ctx: numbers(100), max_attempts=1)
    run_no_restart(linked((spout, bolt))).wait(30)
    assert sorted(n for store in stores for n in store.kept) == list(range(100))
    assert [store.closed for store in stores] == [1, 1, 1]


@pytest.mark.parametrize("close", [Store.close, Store.close_later])
def test_every_run_closes_what_it_opened(close: Callable[[Store], object]) -> None:
    """A restart too, whatever it was for."""
    stores: list[Store] = []

    def broken(ctx: TaskContext) -> Any:
        if len(stores) < 3:
            raise ValueError("not yet")
        return numbers(5)

    bolt = made_of("sync", lambda ctx: Store(stores), close)
    spout = Spout.replaying(broken)
    summary = run(linked((spout, bolt), restart_max_backoff_secs=0)).wait(30)
    assert summary.acked == 5
    assert len(stores) == 3
    assert [store.closed for store in stores] == [1] * len(stores)


@pytest.mark.parametrize("is_async", [False, True])
def test_what_deactivate_raises_harms_nothing(is_async: bool) -> None:
    """It is logged; everything was handled by then."""

    def raising(_: Store) -> None:
        raise ValueError("no")

    async def raising_later(_: Store) -> None:
        raise ValueError("no")

    bolt = made_of("sync", lambda ctx: Store([]), raising_later if is_async else raising)
    with TopologyHarness(linked((ListSpout(numbers(5)).spout, bolt))) as harness:
        summary = harness.run_to_end()
    assert summary.ok
    assert summary.acked == 5


def test_deactivate_needs_make_args() -> None:
    """There would be nothing to give it."""
    bolt = Bolt.run(lambda number, emit: None, deactivate=print)  # type: ignore[call-overload]
    with pytest.raises(TopologyError, match="give make_args too"):
        linked((ListSpout(numbers(1)).spout, bolt))
