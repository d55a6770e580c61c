"""Ticks beside user code that takes its time: others are on time, and one's own backlog is one."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, Tick, run_no_restart
from fsshelter_py.testing import ListSpout, TopologyHarness
from tests.hostile.tools import block, released, until
from tests.shapes import Number, linked, numbers


def test_ticks_beside_a_blocked_bolt_are_on_time_and_its_own_backlog_is_one() -> None:
    """Blocked for a minute, with ticks of a second; both by the clock of the harness."""
    harness: TopologyHarness
    mine: list[int] = []
    others: list[tuple[int, float]] = []

    def blocked(item: Number | Tick, emit: Emit[None]) -> None:
        if isinstance(item, Tick):
            mine.append(item.number)
        else:
            block(harness, 60, "c1-0")

    def free(item: Number | Tick, emit: Emit[None]) -> None:
        if isinstance(item, Tick):
            others.append((item.number, harness.clock.now()))

    spout = ListSpout(numbers(1)).spout
    bolts = [
        Bolt.run(blocked).with_executors(1).with_conf(tick_tuple_freq_secs=1),
        Bolt.run(free).with_executors(1).with_conf(tick_tuple_freq_secs=1),
    ]
    with TopologyHarness(linked(*((spout, bolt) for bolt in bolts), message_timeout_secs=1000)) as harness:
        harness.advance(62.5)
    assert [number for number, _ in others] == list(range(1, 63))
    assert all(0 <= at - number < 0.2 for number, at in others)
    assert mine[0] == 1
    assert mine[1:] == [61, 62]


def test_ticks_do_not_wait_behind_a_full_ring() -> None:
    """A hundred tuples of a second each are taken at once; ticks of ten come in between, not after them."""
    harness: TopologyHarness
    seen: list[Any] = []

    def slow(item: Number | Tick, emit: Emit[None]) -> None:
        seen.append(type(item))
        if isinstance(item, Number):
            block(harness, 1, "c1-0")

    bolt = Bolt.run(slow).with_executors(1).with_conf(tick_tuple_freq_secs=10)
    topology = linked((ListSpout(numbers(100)).spout, bolt), message_timeout_secs=1000, max_spout_pending=100)
    with TopologyHarness(topology) as harness:
        assert harness.run_to_end().ok
    ticks = [index for index, kind in enumerate(seen) if kind is Tick]
    assert len(ticks) >= 9
    assert all(9 <= later - sooner <= 12 for sooner, later in pairwise(ticks))


def test_no_tick_comes_before_a_slow_make_args_has_returned() -> None:
    """Those that were due before are not made up for."""
    harness: TopologyHarness
    made: list[float] = []
    ticks: list[int] = []

    def make_args(ctx: Any) -> None:
        block(harness, 30, "c1-0")
        made.append(harness.clock.now())

    def consume(args: Any, item: Number | Tick, emit: Emit[None]) -> None:
        assert made
        if isinstance(item, Tick):
            ticks.append(item.number)

    bolt = Bolt.run(consume, make_args=make_args).with_executors(1).with_conf(tick_tuple_freq_secs=1)
    with TopologyHarness(linked((ListSpout(numbers(10)).spout, bolt))) as harness:
        harness.advance(33.5)
    assert made[0] == pytest.approx(30, abs=0.2)
    assert ticks[-3:] == [31, 32, 33]
    assert ticks[0] >= 30


@pytest.mark.parametrize("kind", ["run", "batched", "manual"])
def test_tick_while_everything_is_stuck_is_one(kind: str) -> None:
    """With threads: held in one call, the task has one tick waiting, however many were due."""
    ticks: list[Tick] = []
    began = threading.Event()
    with released(threading.Event()) as go:

        def consume(item: Any, *rest: Any) -> None:
            inner = item[0] if isinstance(item, list) else item.tuple if kind == "manual" else item
            if isinstance(inner, Tick):
                ticks.append(inner)
            else:
                began.set()
                go.wait(60)
                if kind == "manual":
                    rest[0].ack(item)

        bolts = {
            "run": lambda: Bolt.run(consume),
            "batched": lambda: Bolt.run_batched(consume, max_size=1, max_wait=1),
            "manual": lambda: Bolt.run_manual(consume),
        }
        counted: list[int] = []

        def count(item: Number | Tick, emit: Emit[None]) -> None:
            counted.append(1)

        spout = ListSpout(numbers(1)).spout
        ticking = bolts[kind]().with_executors(1).with_conf(tick_tuple_freq_secs=0.01)
        beside = Bolt.run(count).with_executors(1).with_conf(tick_tuple_freq_secs=0.01)
        with run_no_restart(linked((spout, ticking), (spout, beside))) as hosted:
            assert began.wait(30)
            before, at = len(ticks), len(counted)
            until(lambda: len(counted) >= at + 10)
            assert len(ticks) == before
            go.set()
            hosted.wait(30)
    numbers_seen = [tick.number for tick in ticks]
    assert numbers_seen == sorted(set(numbers_seen))
