"""Cost as work grows: ``python -m benchmarks.growth TUPLES TASKS PENDING PLACEMENT`` prints time and memory as JSON.

With PENDING above 1 a manual bolt keeps that many tuples before it acks them all, so that they are in fact pending.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from time import perf_counter

from benchmarks.job import Tally
from benchmarks.number_jobs import Number, tally
from fsshelter_py import (
    Bolt,
    Collector,
    Delivery,
    Group,
    Shuffle,
    Spout,
    Subscription,
    TaskContext,
    run_no_restart,
    topology,
)
from fsshelter_py.garbage import collect_less

__all__ = ["main"]


class Keeper:
    """Acks what it was given once it holds enough."""

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self._held: list[Delivery[Number]] = []

    def keep(self, delivery: Delivery[Number], collector: Collector[Number]) -> None:
        self._held.append(delivery)
        if len(self._held) == self._enough:
            for held in self._held:
                collector.ack(held)
            self._held.clear()


def main(tuples: str, tasks: str, pending: str, placement: str) -> None:
    """Measure once; TUPLES is rounded up to a multiple of PENDING."""
    held = int(pending)
    count = -(-int(tuples) // held) * held

    def fresh(_: TaskContext) -> Tally:
        return {}

    @topology("growth")
    def growth() -> Iterator[Subscription]:
        source = Spout.replaying(lambda ctx: (Number(n % 10_000) for n in range(count)))
        if held > 1:
            keeper = Bolt.run_manual(Keeper.keep, make_args=lambda ctx: Keeper(held))
            yield source >> keeper | Shuffle.on(Number)
        else:
            result = Bolt.run(tally, make_args=fresh).with_parallelism(int(tasks))
            yield source >> result | Group.by(Number, "number")

    built = growth().with_conf({"max_spout_pending": max(128, held), "placement": placement})
    collect_less()
    before = _peak()
    start = perf_counter()
    summary = run_no_restart(built).wait()
    seconds = perf_counter() - start
    if summary.acked != count:
        sys.exit(f"{summary.acked} of {count} tuples were acked")
    print(json.dumps({"micros": seconds / count * 1e6, "mib": (_peak() - before) / 1024}))


def _peak() -> int:
    """The most memory held so far, in KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


if __name__ == "__main__":
    main(*sys.argv[1:])
