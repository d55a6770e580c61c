"""From emit to ack at a steady rate: ``python -m benchmarks.latency PLACEMENT SECONDS`` prints percentiles as JSON.

A thread hands out numbers by the clock and wakes the spout for each; the time counts from the spout's answer to its ack
handler. Four tasks and the acker: on one executor, or on five.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter

from benchmarks.job import Tally
from benchmarks.number_jobs import Number, hand_on, tally
from fsshelter_py import END, Bolt, EndOfInput, Shuffle, Spout, Subscription, TaskContext, run_no_restart, topology
from fsshelter_py.garbage import collect_less

__all__ = ["main"]

_RATE = 1_000
_WARM_UP = 500


class Metronome:
    """A reliable source that has a number every millisecond.

    ``due`` and ``ended`` are written by the ticking thread alone; everything else is the spout's.
    """

    def __init__(self, context: TaskContext, seconds: float) -> None:
        self._wake = context.wake
        self._count = int(seconds * _RATE) + _WARM_UP
        self._due: deque[int] = deque()
        self._ended = False
        self._emitted: dict[int, float] = {}
        self.latencies: list[float] = []
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        start = perf_counter()
        for number in range(self._count):
            wait = start + number / _RATE - perf_counter()
            if wait > 0:
                time.sleep(wait)
            self._due.append(number)
            self._wake()
        self._ended = True
        self._wake()

    def next(self) -> tuple[int, Number] | None | EndOfInput:
        if not self._due:
            return END if self._ended and not self._due else None
        number = self._due.popleft()
        self._emitted[number] = perf_counter()
        return number, Number(number)

    def handlers(self) -> tuple[Callable[[int], None], Callable[[int], None]]:
        def ack(number: int) -> None:
            self.latencies.append(perf_counter() - self._emitted.pop(number))

        def nack(number: int) -> None:
            raise AssertionError(f"{number} was nacked")

        return ack, nack


def main(placement: str, seconds: str) -> None:
    """Measure once."""
    made: list[Metronome] = []

    def make(ctx: TaskContext) -> Metronome:
        made.append(Metronome(ctx, float(seconds)))
        return made[-1]

    def fresh(_: TaskContext) -> Tally:
        return {}

    @topology("latency")
    def latency() -> Iterator[Subscription]:
        source = Spout.run_reliable(Metronome.next, make_args=make, make_acker=Metronome.handlers)
        first = Bolt.run(hand_on, make_args=fresh)
        second = Bolt.run(hand_on, make_args=fresh)
        result = Bolt.run(tally, make_args=fresh)
        yield source >> first | Shuffle.on(Number)
        yield first >> second | Shuffle.on(Number)
        yield second >> result | Shuffle.on(Number)

    collect_less()
    run_no_restart(latency().with_conf({"placement": placement})).wait()
    micros = sorted(secs * 1e6 for secs in made[0].latencies[_WARM_UP:])
    print(json.dumps({"p50": micros[len(micros) // 2], "p99": micros[len(micros) * 99 // 100], "max": micros[-1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
