"""Jobs over numbers: shapes of topologies, and bolts that compute or wait."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.job import Job, Step, Tally
from fsshelter_py import Emit

__all__ = ["NUMBER_JOBS", "Number", "hand_on", "tally"]

_DISTINCT = 1_000
_CALL_SECS = 0.005
_BLOCK = bytes(range(256)) * 13


@dataclass(slots=True)
class Number:
    """A number."""

    number: int


@dataclass(slots=True)
class Odd:
    """An odd number."""

    number: int


@dataclass(slots=True)
class Even:
    """An even number."""

    number: int


def split(_: Tally, number: Number, emit: Emit[Odd | Even]) -> None:
    emit(Odd(number.number) if number.number % 2 else Even(number.number))


def tally(tally: Tally, number: Number | Odd | Even, _: Emit[Number]) -> None:
    tally[number.number] = tally.get(number.number, 0) + 1


def hand_on(_: Tally, number: Number, emit: Emit[Number]) -> None:
    emit(number)


def spread(_: Tally, number: Number, emit: Emit[Odd]) -> None:
    for _again in range(100):
        emit(Odd(number.number))


def burn(_: Tally, number: Number, emit: Emit[Number]) -> None:
    burnt(number.number)
    emit(number)


def burnt(value: int) -> int:
    """About 50 µs of Python, which makes no objects: what those cost depends on what others leave in memory."""
    for byte in _BLOCK:
        value = (value ^ byte) & 0xFF
    return value


def call(_: Tally, number: Number, emit: Emit[Number]) -> None:
    time.sleep(_CALL_SECS)
    emit(number)


async def call_async(_: Tally, number: Number, emit: Emit[Number]) -> None:
    await asyncio.sleep(_CALL_SECS)
    emit(number)


def fold(met: int | None, number: Odd | Even) -> tuple[int, tuple[int, int]]:
    met = (met or 0) + 1
    return met, (number.number, met)


def _plain(each: Callable[[Number], Iterable[Number | Odd | Even]]) -> Callable[[Iterable[int]], Tally]:
    """A loop over what ``each`` makes of a number."""

    def loop(items: Iterable[int]) -> Tally:
        outcome: Tally = {}
        for item in items:
            for number in each(Number(item)):
                outcome[number.number] = outcome.get(number.number, 0) + 1
        return outcome

    return loop


def _burnt_one(number: Number) -> tuple[Number]:
    burnt(number.number)
    return (number,)


def _called_one(number: Number) -> tuple[Number]:
    time.sleep(_CALL_SECS)
    return (number,)


def _expected(times: int = 1) -> Callable[[Sequence[int]], Tally]:
    return lambda items: {item: met * times for item, met in Counter(items).items()}


def _numbers(size: int) -> list[int]:
    return [n % _DISTINCT for n in range(size)]


_RESULT = Step("result", tally, (Number,))
_SHARES = {"reactivex": 0.1, "threads with queues": 0.5}

NUMBER_JOBS = (
    Job(
        name="numbers",
        title="FsShelter's bench: numbers, split into odd and even, each grouped by field into one result",
        items=_numbers,
        make=Number,
        steps=(Step("split", split, (Number,)), Step("result", tally, (Odd, Even), key="number", fold=fold)),
        plain=_plain(lambda n: (Odd(n.number),) if n.number % 2 else (Even(n.number),)),
        expected=_expected(),
        unit="number",
        size=500_000,
        shares=_SHARES,
    ),
    Job(
        name="chain",
        title="A chain of five bolts",
        items=_numbers,
        make=Number,
        steps=(*(Step(f"hop{n}", hand_on, (Number,)) for n in range(1, 5)), _RESULT),
        plain=_plain(lambda number: (number,)),
        expected=_expected(),
        unit="number",
        size=200_000,
        shares=_SHARES,
    ),
    Job(
        name="fan-out",
        title="A fan-out of 100",
        items=_numbers,
        make=Number,
        steps=(Step("spread", spread, (Number,)), Step("result", tally, (Odd,))),
        plain=_plain(lambda n: [Odd(n.number) for _ in range(100)]),
        expected=_expected(100),
        unit="tuple of the hundred",
        size=15_000,
        shares=_SHARES,
    ),
    Job(
        name="all",
        title="An All grouping over 8 tasks",
        items=_numbers,
        make=Number,
        steps=(Step("result", tally, (Number,), copies=8),),
        plain=_plain(lambda number: (number,) * 8),
        expected=_expected(8),
        unit="number",
        per_unit=8,
        size=150_000,
        shares=_SHARES,
    ),
    Job(
        name="cpu",
        title="A CPU-heavy bolt",
        items=_numbers,
        make=Number,
        steps=(Step("burn", burn, (Number,)), _RESULT),
        plain=_plain(_burnt_one),
        expected=_expected(),
        unit="number",
        size=20_000,
    ),
    Job(
        name="io",
        title="An I/O bolt: 5 ms a call, 100 at once where the contestant can",
        items=_numbers,
        make=Number,
        steps=(Step("call", call, (Number,), at_once=100, consume_async=call_async), _RESULT),
        plain=_plain(_called_one),
        expected=_expected(),
        unit="number",
        size=10_000,
        shares={"plain loop": 0.02, "bytewax": 0.02},
    ),
)
