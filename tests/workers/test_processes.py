"""A topology over several processes does what it does in one."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import msgspec
import pytest
import structlog

from fsshelter_py import (
    END,
    All,
    Bolt,
    Collector,
    ComponentError,
    Delivery,
    Direct,
    Emit,
    Global,
    Group,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
    Spout,
    TaskContext,
    Tick,
    TopologyError,
    TopologyFailedError,
    run,
    run_no_restart,
    run_with,
)
from fsshelter_py.build.assignment import assign
from fsshelter_py.execute import exchange
from fsshelter_py.testing import CollectBolt, ListSpout, run_to_end
from tests.shapes import Letter, Number, chain_with_last_words, linked, numbers
from tests.workers.shared_book import SharedBook

WORKERS = pytest.mark.parametrize("workers", [1, 2, 3])


@dataclass(frozen=True)
class Seen:
    """A number, and where it was."""

    n: int
    pid: int
    task: int = -1


def pass_on(ctx: TaskContext, number: Number, emit: Emit[Seen]) -> None:
    emit(Seen(number.n, os.getpid(), ctx.task_id))


def passing(tasks: int = 6) -> Bolt:
    return Bolt.run(pass_on, make_args=lambda ctx: ctx).with_parallelism(tasks)


@WORKERS
def test_tasks_are_spread_over_processes_and_every_tuple_is_acked(workers: int) -> None:
    """What a bolt of one task collects is in the main process."""
    source, sink = ListSpout(numbers(3000)), CollectBolt[Seen]()
    bolt = passing()
    summary = run_to_end(linked((source.spout, bolt), (bolt, sink.bolt, Shuffle.on(Seen)), workers=workers))
    assert sorted(seen.n for seen in sink.tuples) == list(range(3000))
    pids = {seen.pid for seen in sink.tuples}
    assert len(pids) == workers
    assert os.getpid() in pids
    assert len(source.acked) == summary.acked == 3000
    assert summary.ok
    assert summary.components["c1"].executed == summary.components["c1"].emitted == 3000
    assert summary.components["c1"].latency_ms is not None


def test_many_executors_have_no_address_each() -> None:
    """Sockets are files, of which a process may have few: then the postmen hand on what comes."""
    source, sink = ListSpout(numbers(2000)), CollectBolt[Seen]()
    many, few = passing(80), Bolt.run(again).with_parallelism(4)
    topology = linked(
        (source.spout, many, Group.by(Number, "n")),
        (many, few, Group.by(Seen, "n")),
        (few, sink.bolt, Shuffle.on(Seen)),
        workers=2,
        placement="per-task",
        executor_receive_buffer_size=4,
    )
    assert len(assign(topology).executors) > exchange._MOST_ADDRESSES
    summary = run_to_end(topology)
    assert summary.ok
    assert sorted(seen.n for seen in sink.tuples) == list(range(2000))
    assert len({seen.task for seen in sink.tuples}) == 80
    assert len({seen.pid for seen in sink.tuples}) == 2


def again(seen: Seen, emit: Emit[Seen]) -> None:
    emit(seen)


@WORKERS
def test_key_goes_to_one_task_whatever_process_it_comes_from(workers: int) -> None:
    """Fields from tasks of all processes; the order between two tasks is kept."""
    sink = CollectBolt[Letter]()
    names = SharedLetters()
    first = Bolt.run(names.letter).with_parallelism(3)
    second = Bolt.run(names.mark, make_args=lambda ctx: ctx).with_parallelism(4)
    source = ListSpout(numbers(600))
    run_to_end(
        linked(
            (source.spout, first, Group.by(Number, "n")),
            (first, second, Group.by(Letter, "text")),
            (second, sink.bolt, Shuffle.on(Letter)),
            workers=workers,
        )
    )
    tasks: dict[str, set[str]] = {}
    order: dict[str, list[int]] = {}
    for letter in sink.tuples:
        text, task = letter.text.split()
        tasks.setdefault(text, set()).add(task)
        order.setdefault(text + str(letter.n % 7), []).append(letter.n)
    assert all(len(found) == 1 for found in tasks.values())
    assert sum(map(len, order.values())) == 600


class SharedLetters:
    """Methods travel with their object."""

    def letter(self, number: Number, emit: Emit[Letter]) -> None:
        emit(Letter("abcdefg"[number.n % 7], number.n))

    def mark(self, ctx: TaskContext, letter: Letter, emit: Emit[Letter]) -> None:
        emit(Letter(f"{letter.text} {ctx.task_id}", letter.n))


def directly(ctx: TaskContext, number: Number, emit: Emit[Number]) -> None:
    tasks = ctx.tasks_of("receiver")
    emit.direct(tasks[number.n % len(tasks)], number)


@pytest.mark.parametrize("workers", [2, 3])
def test_every_grouping_crosses_processes(workers: int) -> None:
    """All, global, partial key and direct: each delivery counts in its tree."""
    for grouping, expected in (
        (All.on(Number), 4),
        (Global.on(Number), 1),
        (PartialKey.by(Number, "n"), 1),
        (LocalOrShuffle.on(Number), 1),
        (Direct.on(Number), 1),
    ):
        source, sink = ListSpout(numbers(100)), CollectBolt[Seen]()
        director = Bolt.run(directly, make_args=lambda ctx: ctx).with_parallelism(2)
        receiver = passing(4).with_name("receiver")
        first = director if grouping.kind.value == "direct" else Bolt.run(lambda n, emit: emit(n)).with_parallelism(2)
        topology = linked(
            (source.spout, first), (first, receiver, grouping), (receiver, sink.bolt, Shuffle.on(Seen)), workers=workers
        )
        assert run_to_end(topology).ok
        assert len(source.acked) == 100
        assert Counter(seen.n for seen in sink.tuples) == dict.fromkeys(range(100), expected)


def test_local_or_shuffle_stays_in_the_process() -> None:
    """Spouts and bolts of as many tasks as processes: nothing crosses."""
    sink = CollectBolt[Seen]()
    spout = Spout.replaying(lambda ctx: [Seen(n, os.getpid()) for n in range(50)])
    spread = spout.with_parallelism(2).with_conf(spout_workers="spread")
    bolt = Bolt.run(lambda seen, emit: emit(Seen(seen.pid, os.getpid()))).with_parallelism(2)
    summary = run_to_end(
        linked((spread, bolt, LocalOrShuffle.on(Seen)), (bolt, sink.bolt, Shuffle.on(Seen)), workers=2)
    )
    assert summary.acked == 100
    assert all(seen.n == seen.pid for seen in sink.tuples)
    assert len({seen.pid for seen in sink.tuples}) == 2


# --- kinds of tuples, and what is in them --------------------------------------------------------------------------


class Colour(Enum):
    RED = 1


class Pair(NamedTuple):
    value: Any
    n: int


@attrs.frozen
class Attrs:
    value: Any
    n: int


class Struct(msgspec.Struct):
    value: Any
    n: int


@dataclass
class Counted:
    value: Any
    n: int
    made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.made += 1


@dataclass(frozen=True)
class Special(Number):
    """Of a class that is no stream of its own here."""

    more: str = ""


VALUES = [
    1,
    2**100,
    -0.5,
    "é\ud800"[:1],
    b"\x00",
    bytearray(b"x"),
    (1, [2, {3: (4,)}]),
    {1, 2},
    None,
    True,
    Decimal("1.10"),
    Colour.RED,
    Letter("inner"),
    Pair((1,), 2),
]


@pytest.mark.parametrize("cls", [Pair, Attrs, Struct, Counted])
def test_tuples_arrive_as_they_were_sent(cls: Any) -> None:
    """Of any class, with fields of any type that can be pickled; each field is of the very type it was."""
    sink = CollectBolt[Any]()
    bolt = Bolt.run(lambda tuple_, emit: emit(tuple_)).with_parallelism(2)
    sent = [cls(value, n) for n, value in enumerate(VALUES * 2)]
    summary = run_to_end(
        linked((ListSpout(sent).spout, bolt, Shuffle.on(cls)), (bolt, sink.bolt, Shuffle.on(cls)), workers=2)
    )
    assert summary.ok
    arrived = sorted(sink.tuples, key=lambda tuple_: tuple_.n)
    assert arrived == sent
    assert {type(one) for one in arrived} == {cls}
    assert [type(one.value) for one in arrived] == [type(one.value) for one in sent]


def test_tuples_of_a_subclass_stay_of_it() -> None:
    """On the stream of their base class."""
    sink = CollectBolt[Number]()
    bolt = Bolt.run(lambda tuple_, emit: emit(tuple_)).with_parallelism(2)
    sent = [Special(n, "x") for n in range(10)]
    run_to_end(linked((ListSpout(sent).spout, bolt), (bolt, sink.bolt), workers=2))
    assert sorted(sink.tuples, key=lambda one: one.n) == sent


def test_classes_and_functions_of_no_module_travel() -> None:
    """Made inside a function; the class is the same one when its tuples come back."""

    @dataclass(frozen=True)
    class Local:
        n: int

    factor = 3

    def times(local: Local, emit: Emit[Local]) -> None:
        emit(Local(local.n * factor))

    sink = CollectBolt[Local]()
    bolt = Bolt.run(times).with_parallelism(2)
    source = ListSpout([Local(n) for n in range(20)])
    run_to_end(linked((source.spout, bolt, Shuffle.on(Local)), (bolt, sink.bolt, Shuffle.on(Local)), workers=2))
    assert set(sink.tuples) == {Local(3 * n) for n in range(20)}


@WORKERS
def test_tuple_that_cannot_be_sent_fails_its_input_with_the_field_named(workers: int) -> None:
    """In one process it need not be sent. Other tuples of the same turn arrive."""
    source = ListSpout(numbers(100))
    arrived = CollectBolt[Number]()

    def enclose(number: Number, emit: Emit[Pair | Number]) -> None:
        emit(Pair(threading.Lock() if number.n % 10 == 0 else "fine", number.n))
        emit(number)

    first = Bolt.run(enclose).with_name("first")
    second = Bolt.run(lambda pair, emit: None).with_parallelism(3).with_name("second")
    topology = linked((source.spout, first), (first, second, All.on(Pair)), (first, arrived.bolt), workers=workers)
    with run_no_restart(topology) as hosted:
        summary = hosted.wait(30)
    assert len(arrived.tuples) == 100
    if workers == 1:
        assert summary.ok
        return
    assert sorted(number.n for number, _ in source.nacked) == list(range(0, 100, 10))
    assert len(source.acked) == 90
    reason = source.nacked[0][1]
    assert (reason.kind, reason.component, reason.stream) == ("failed", "first", "Pair")
    assert "first >> second on stream Pair" in str(reason.error)
    assert "field 'value'" in str(reason.error)
    assert "cannot pickle '_thread.lock'" in str(reason.error)
    assert summary.components["first"].failed > 0


class Grumpy:
    def __reduce__(self) -> Any:
        return refuse, (os.getpid(),)


def refuse(pid: int) -> Grumpy:
    if os.getpid() != pid:
        raise ValueError("not here")
    return Grumpy()


def test_tuple_that_cannot_be_read_fails_its_input_too() -> None:
    """It is noticed by the process that receives it."""
    source = ListSpout([Pair(Grumpy() if n == 1 else "x", n) for n in range(4)])
    bolt = Bolt.run(lambda pair, emit: None).with_parallelism(2)
    summary = run_to_end(linked((source.spout, bolt, Shuffle.on(Pair)), workers=2, max_spout_pending=1))
    assert [pair.n for pair, _ in source.nacked] == [1]
    assert "not here" in str(source.nacked[0][1].error)
    assert summary.acked == 3


def test_tuple_that_cannot_be_read_takes_no_other_along_for_long() -> None:
    """Those beside it in a letter may fail once; when they are emitted again each is packed on its own."""
    pairs = [Pair(Grumpy() if n % 50 == 7 else "x", n) for n in range(300)]
    spout = Spout.replaying(lambda ctx: pairs, max_attempts=4)
    bolt = Bolt.run(lambda pair, emit: None).with_parallelism(2)
    summary = run_to_end(linked((spout, bolt, Group.by(Pair, "n")), workers=2))
    assert 1 <= summary.dead <= 6  # of the six, those that go to the other process
    assert summary.acked == 300 - summary.dead


# --- failures ------------------------------------------------------------------------------------------------------


class CustomError(Exception):
    def __init__(self, what: str, *, code: int) -> None:
        super().__init__(f"{what} with code {code}")
        self.code = code


def fail_elsewhere(main: int, number: Number, emit: Emit[None]) -> None:
    if os.getpid() != main:
        try:
            raise KeyError("the cause")
        except KeyError as error:
            raise CustomError("failed", code=7) from error


def test_failure_in_another_process_keeps_its_class_its_cause_and_its_traceback() -> None:
    """As the nack handler sees it."""
    source = ListSpout(numbers(20))
    main = os.getpid()
    bolt = Bolt.run(fail_elsewhere, make_args=lambda ctx: main).with_parallelism(2)
    summary = run_to_end(linked((source.spout, bolt), workers=2))
    assert len(source.acked) == len(source.nacked) == 10
    assert summary.nacks == {"failed": 10}
    reason = source.nacked[0][1]
    assert (reason.component, reason.stream) == ("c1", "Number")
    error = reason.error
    assert isinstance(error, CustomError)
    assert error.code == 7
    assert isinstance(error.__cause__, KeyError)
    text = "".join(traceback.format_exception(error))
    assert 'raise CustomError("failed", code=7)' in text
    assert "in fail_elsewhere" in text
    assert 'raise KeyError("the cause")' in text


def test_unhandled_error_in_another_process_ends_the_topology_with_the_users_traceback() -> None:
    """A ``make_args`` that raises, in a worker only."""
    main = os.getpid()

    def make(ctx: TaskContext) -> int:
        if os.getpid() != main:
            raise CustomError("no connection", code=1)
        return main

    bolt = Bolt.run(fail_elsewhere, make_args=make).with_parallelism(2).with_name("connector")
    with (
        run_no_restart(linked((ListSpout(numbers(5)).spout, bolt), workers=2)) as hosted,
        pytest.raises(TopologyFailedError, match="no connection") as caught,
    ):
        hosted.wait(30)
    error = caught.value.__cause__
    assert isinstance(error, ComponentError)
    assert error.component == "connector"
    assert isinstance(error.__cause__, CustomError)
    assert "raise CustomError" in "".join(traceback.format_exception(error))


def test_component_that_cannot_be_sent_is_a_topology_error_that_names_it() -> None:
    """At once: a restart would not mend it."""
    lock = threading.Lock()

    def guarded(number: Number, emit: Emit[None]) -> None:
        with lock:
            pass

    bolt = Bolt.run(guarded).with_parallelism(2).with_name("guarded")
    with (
        run(linked((ListSpout(numbers(5)).spout, bolt), workers=2)) as hosted,
        pytest.raises(TopologyFailedError) as caught,
    ):
        hosted.wait(30)
    assert isinstance(caught.value.__cause__, TopologyError)
    assert "bolt 'guarded' cannot be sent to a worker process" in str(caught.value)
    assert hosted.stats().restarts == 0


# --- the kinds of bolts, ticks, logs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 3])
def test_async_batched_and_manual_bolts_work_in_every_process(workers: int) -> None:
    """A chain of the three, with everything crossing."""

    async def slow(number: Number, emit: Emit[Number]) -> None:
        await asyncio.sleep(0)
        emit(number)

    def batch(tuples: list[Number], emit: Emit[Number]) -> None:
        for number in tuples:
            emit(number)

    def by_hand(delivery: Delivery[Number], collector: Collector[Number]) -> None:
        def settle() -> None:
            collector.emit(delivery.tuple, anchors=[delivery])
            collector.ack(delivery)

        threading.Thread(target=settle).start()

    first = Bolt.run(slow).with_parallelism(workers).with_concurrency(4)
    second = Bolt.run_batched(batch, max_size=7, max_wait=3600).with_parallelism(workers)
    third = Bolt.run_manual(by_hand).with_parallelism(workers)
    source, sink = ListSpout(numbers(100)), CollectBolt[Number]()
    by_number = Group.by(Number, "n")
    topology = linked(
        (source.spout, first), (first, second, by_number), (second, third), (third, sink.bolt), workers=workers
    )
    assert run_to_end(topology.with_conf(message_timeout_secs=1000)).ok
    assert sorted(number.n for number in sink.tuples) == list(range(100))
    assert len(source.acked) == 100


def test_ticks_and_stop_work_in_every_process() -> None:
    """Each process times its own bolts; a task of any may end the topology."""

    def consume(seen: tuple[TaskContext, list[int]], tuple_: Any, emit: Emit[Seen]) -> None:
        ctx, ticks = seen
        if isinstance(tuple_, Tick):
            ticks.append(tuple_.number)
            if len(ticks) == 3:
                emit(Seen(ctx.task_index, os.getpid()))

    def make(ctx: TaskContext) -> tuple[TaskContext, list[int]]:
        return ctx, []

    ticking = Bolt.run(consume, make_args=make).with_parallelism(2).with_conf(tick_tuple_freq_secs=0.01)
    received: set[int] = set()

    def gather(ctx: TaskContext, seen: Seen, emit: Emit[None]) -> None:
        received.add(seen.pid)
        if len(received) == 2:
            ctx.stop()

    gatherer = Bolt.run(gather, make_args=lambda ctx: ctx)
    idle = Spout.run_unreliable(lambda ctx: None)
    with run_no_restart(linked((idle, ticking), (ticking, gatherer, Shuffle.on(Seen)), workers=2)) as hosted:
        hosted.wait(30)
    assert len(received) == 2


def test_a_task_of_another_process_may_end_the_topology() -> None:
    """What is in flight is settled."""
    main = os.getpid()

    def consume(ctx: TaskContext, number: Number, emit: Emit[None]) -> None:
        if os.getpid() != main:
            ctx.stop()

    source = ListSpout(numbers(200_000))
    bolt = Bolt.run(consume, make_args=lambda ctx: ctx).with_parallelism(2)
    with run_no_restart(linked((source.spout, bolt), workers=2)) as hosted:
        summary = hosted.wait(30)
    assert summary.ok
    assert len(source.acked) == len(source.emitted) < 200_000


def test_logs_of_other_processes_come_to_the_users_logger() -> None:
    """With what was bound to them, and with errors as errors."""
    main = os.getpid()
    events: list[dict[str, Any]] = []

    def keep(_: Any, method: str, event: Any) -> Any:
        events.append({"method": method, **event})
        raise structlog.DropEvent

    def start_log(task_id: int) -> Any:
        return structlog.wrap_logger(None, processors=[keep], wrapper_class=structlog.make_filtering_bound_logger(20))

    def consume(ctx: TaskContext, number: Number, emit: Emit[None]) -> None:
        if os.getpid() != main:
            ctx.log.debug("unheard")
            ctx.log.info("elsewhere", number=number.n)
            raise CustomError("bad", code=number.n)

    bolt = Bolt.run(consume, make_args=lambda ctx: ctx).with_parallelism(2).with_name("logger")
    with run_with(start_log, linked((ListSpout(numbers(2)).spout, bolt), workers=2)) as hosted:
        hosted.wait(30)
    (told,) = [event for event in events if event["event"] == "elsewhere"]
    assert (told["method"], told["component"], told["number"]) == ("info", "logger", 1)
    (failed,) = [event for event in events if event["event"] == "tuple_failed"]
    assert isinstance(failed["exc_info"], CustomError)
    assert not [event for event in events if event["event"] == "unheard"]


# --- stopping ---------------------------------------------------------------------------------------------------------


@WORKERS
def test_deactivation_goes_in_topological_order_over_all_processes(workers: int) -> None:
    """What each bolt emits when it stops passes all that come after it."""
    topology, sink = chain_with_last_words(3, workers=workers)
    assert run_to_end(topology).ok
    texts = [letter.text for letter in sink.tuples]
    assert sorted(texts) == sorted(
        3 * ["off first: first second third", "off second: second third", "off third: third"]
    )


@WORKERS
def test_stop_handles_what_is_in_flight(workers: int) -> None:
    """Every tuple that an endless spout emitted is acked, none is nacked."""
    source, sink = ListSpout(numbers(200_000)), CollectBolt[Seen]()
    bolt = passing()
    topology = linked((source.spout, bolt), (bolt, sink.bolt, Shuffle.on(Seen)), workers=workers)
    with run_no_restart(topology) as hosted:
        sink.wait_for(100)
        summary = hosted.stop()
    assert len(source.acked) == len(source.emitted) == summary.acked == len(sink.tuples)
    assert source.nacked == []
    assert summary.ok


def test_what_another_process_cannot_finish_is_nacked_as_stopped(tmp_path: Path) -> None:
    """A bolt stuck in user code there does not hold the stop up, nor is its process left behind."""
    main, stuck = os.getpid(), SharedBook[int](tmp_path / "stuck")

    def hang(number: Number, emit: Emit[None]) -> None:
        if os.getpid() != main:
            stuck.append(number.n)
            threading.Event().wait()

    source = ListSpout(numbers(4))
    bolt = Bolt.run(hang).with_parallelism(2)
    with run_no_restart(linked((source.spout, bolt), workers=2)) as hosted:
        while not len(stuck):
            threading.Event().wait(0.01)
        hosted.stop(0)
    assert [reason.kind for _, reason in source.nacked] == ["stopped"] * len(source.nacked)
    assert len(source.nacked) == 2
    assert len(source.acked) == 2


def test_full_rings_elsewhere_hold_the_spout_back_and_nothing_deadlocks() -> None:
    """Rings of one tuple, untracked, and all of it arrives."""
    sink = CollectBolt[Seen]()
    answers = iter(numbers(2000))
    calls = threading.Lock()

    def following(ctx: TaskContext) -> Any:
        with calls:
            return next(answers, END)

    bolt = passing(4)
    topology = linked(
        (Spout.run_unreliable(following), bolt),
        (bolt, sink.bolt, Shuffle.on(Seen)),
        workers=2,
        executor_receive_buffer_size=1,
    )
    run_to_end(topology)
    assert sorted(seen.n for seen in sink.tuples) == list(range(2000))


def resident_pages(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])


def test_memory_of_every_process_stays_flat() -> None:
    """A hundred thousand tuples after the first ten thousand: less than 4 MB more."""
    pages: dict[int, list[int]] = {}

    def weigh(seen: Seen, emit: Emit[None]) -> None:
        if seen.n % 10_000 == 9_999:
            for pid in (os.getpid(), seen.pid):
                pages.setdefault(pid, []).append(resident_pages(pid))

    bolt = passing(2)
    source = Spout.replaying(lambda ctx: (Number(n) for n in range(110_000)))
    topology = linked((source, bolt), (bolt, Bolt.run(weigh), Shuffle.on(Seen)), workers=2)
    assert run_to_end(topology, timeout=60).ok
    assert len(pages) == 2
    for weights in pages.values():
        assert weights[-1] - weights[1] < 1024
