"""A topology whose input the test hands in, so that counts move when it says so."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue

from fsshelter_py import END, Bolt, Emit, EndOfInput, Hosted, Shuffle, Spout, Subscriptions, Topology, run, topology
from tests.shapes import Number

__all__ = ["NASTY", "Fed"]

NASTY = "<img src=x onerror=alert(1)>'\"&"


class Fed:
    """A hosted topology: a spout ``source``, and two bolts, one of them of a nasty name."""

    def __init__(self) -> None:
        self._input: SimpleQueue[Number | EndOfInput] = SimpleQueue()
        self.hosted: Hosted = run(_fed(self._next))

    def feed(self, count: int) -> None:
        """So many tuples more."""
        for n in range(count):
            self._input.put(Number(n))

    def end(self) -> None:
        """No more input; returns when the topology has ended."""
        self._input.put(END)
        self.hosted.wait(30)

    def _next(self, _: object) -> Number | EndOfInput | None:
        try:
            return self._input.get_nowait()
        except Empty:
            return None


def _fed(next_number: Callable[[object], Number | EndOfInput | None]) -> Topology:
    def double(number: Number, emit: Emit[Number]) -> None:
        emit(Number(number.n * 2))

    def ignore(number: Number, emit: Emit[None]) -> None:
        pass

    @topology("fed")
    def fed() -> Subscriptions:
        source = Spout.run_unreliable(next_number).with_conf(sleep_spout_wait_strategy_time_ms=1)
        doubler = Bolt.run(double)
        nasty = Bolt.run(ignore).with_name(NASTY)
        yield source >> doubler | Shuffle.on(Number)
        yield doubler >> nasty | Shuffle.on(Number).unanchored()

    return fed()
