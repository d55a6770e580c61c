"""The spout of a list and the bolt that collects, in runs with threads and without."""

import threading
from dataclasses import dataclass

import pytest

from fsshelter_py import Bolt, Emit, Shuffle, Topology, run_no_restart, topology
from fsshelter_py.testing import CollectBolt, ListSpout, TopologyHarness, run_to_end


@dataclass(frozen=True)
class Number:
    n: int


NUMBERS = [Number(n) for n in range(20)]


def listed(source: ListSpout[Number], sink: CollectBolt[Number], tasks: int = 1) -> Topology:
    @topology("listed")
    def build():  # type: ignore[no-untyped-def]
        numbers = source.spout.with_parallelism(tasks)
        collector = sink.bolt.with_parallelism(tasks)
        yield numbers >> collector | Shuffle.on(Number)

    return build()


@pytest.mark.parametrize("tasks", [1, 3])
def test_every_tuple_is_emitted_collected_and_acked_once(tasks: int) -> None:
    """Whatever the number of tasks that share the list."""
    source, sink = ListSpout(NUMBERS), CollectBolt[Number]()
    summary = run_to_end(listed(source, sink, tasks))
    assert summary.ok
    for seen in (source.emitted, source.acked, sink.tuples):
        assert sorted(t.n for t in seen) == list(range(20))
    assert source.nacked == []
    assert len({task_id for task_id, _ in sink.received}) == tasks


def test_nacks_are_recorded_with_their_reasons() -> None:
    """A tuple emitted once only is not emitted again."""
    source, sink = ListSpout(NUMBERS), CollectBolt[Number](fail_when=lambda t: t.n == 7)
    summary = run_to_end(listed(source, sink))
    ((tuple_, reason),) = source.nacked
    assert tuple_ == Number(7)
    assert (reason.kind, reason.component) == ("failed", "collector")
    assert "told to fail Number(n=7)" in str(reason.error)
    assert len(source.acked) == 19
    assert not summary.ok


def test_nacked_tuple_is_emitted_again_up_to_max_attempts() -> None:
    """One that recovers is acked, one that does not is nacked each time."""
    failures = {3: 1, 4: 99}

    def failing(tuple_: Number) -> bool:
        failures[tuple_.n] = failures.get(tuple_.n, 0) - 1
        return failures[tuple_.n] >= 0

    source, sink = ListSpout(NUMBERS, max_attempts=3), CollectBolt[Number](fail_when=failing)
    with TopologyHarness(listed(source, sink)) as harness:
        harness.run_to_end()
    assert [t.n for t, _ in source.nacked].count(4) == 3
    assert [t.n for t, _ in source.nacked].count(3) == 1
    assert sorted(t.n for t in source.acked) == [n for n in range(20) if n != 4]
    assert len(source.emitted) == 20 + 1 + 2


def test_wait_for_returns_once_enough_was_collected() -> None:
    """Without sleeping, from another thread than the bolt's."""
    source, sink = ListSpout(NUMBERS), CollectBolt[Number]()
    with run_no_restart(listed(source, sink)):
        assert len(sink.wait_for(20)) == 20


def test_wait_for_says_how_much_there_was() -> None:
    """The error counts."""
    with pytest.raises(TimeoutError, match=r"collected 0 tuples in 0 s; expected 1"):
        CollectBolt[Number]().wait_for(1, timeout=0)


def test_run_to_end_stops_what_does_not_end_and_says_what_is_unfinished() -> None:
    """A bolt that never returns in time: state and pending are told, and the topology is stopped."""
    entered, leave = threading.Event(), threading.Event()

    def block(tuple_: Number, emit: Emit[None]) -> None:
        entered.set()
        leave.wait(60)

    source = ListSpout([Number(1)])

    @topology("endless")
    def build():  # type: ignore[no-untyped-def]
        numbers = source.spout
        stuck = Bolt.run(block).with_executors(1)
        yield numbers >> stuck | Shuffle.on(Number)

    def release() -> None:
        entered.wait(60)
        leave.set()

    releasing = threading.Thread(target=release)
    releasing.start()
    with pytest.raises(TimeoutError, match=r"'endless' has not ended after 0.0 s.*pending") as caught:
        run_to_end(build(), timeout=0.0)
    entered.set()
    releasing.join()
    assert "END" in str(caught.value)
