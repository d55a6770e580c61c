"""Runs the benchmarks: ``python -m benchmarks``. Nothing timed is asserted; a wrong outcome is an error."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.contestant import JOBS
from benchmarks.measure import in_process, measure
from benchmarks.report import Table, machine, of_job, peers, show, write
from benchmarks.workers import SHAPES

_PAGE = Path(__file__).parent.parent / "docs" / "performance.md"

_GROWTH = (
    # tuples, tasks, pending, placement
    *((tuples, 1, 1, "auto") for tuples in (10_000, 100_000, 1_000_000, 10_000_000)),
    *((300_000, tasks, 1, "shared") for tasks in (1, 10, 100, 1_000)),
    *((100_000, tasks, 1, "per-task") for tasks in (1, 10, 100, 1_000)),
    *((200_000, 1, pending, "auto") for pending in (10, 100, 1_000, 10_000, 100_000, 1_000_000)),
)
_PLACES = {"auto": "by default", "shared": "one executor", "per-task": "a thread each"}


def latency(rounds: int, quick: bool, say: Callable[[str], None]) -> Table:
    """From emit to ack, on one executor and on five."""
    rows = []
    for placement, title in (("shared", "one executor"), ("per-task", "five executors")):
        found: dict[str, list[float]] = {}
        for number in range(rounds):
            say(f"latency: round {number + 1} of {rounds}: {title}")
            for name, micros in in_process("benchmarks.latency", placement, "1" if quick else "5").items():
                found.setdefault(name, []).append(micros)
        rows.append((title, *(f"{statistics.median(micros):,.0f}" for micros in found.values())))
    remark = f"µs from emit to ack, three bolts, 1,000 tuples a second; medians of {rounds} rounds"
    return Table("Latency", remark, ("", "p50", "p99", "longest"), rows)


def workers(rounds: int, quick: bool, say: Callable[[str], None]) -> Table:
    """Two worker processes against one."""
    rows = []
    for name, shape in SHAPES.items():
        size = str(shape.size // 10 if quick else shape.size)
        found: dict[int, list[float]] = {1: [], 2: []}
        for number in range(rounds):
            say(f"workers: round {number + 1} of {rounds}: {shape.title}")
            for count in (1, 2) if number % 2 else (2, 1):
                found[count].append(in_process("benchmarks.workers", name, str(count), size)["micros"])
        pairs = [one / two for one, two in zip(found[1], found[2], strict=True)]
        one, two = (statistics.median(micros) for micros in found.values())
        spread = f"{min(pairs):.2f} to {max(pairs):.2f}"
        rows.append((shape.title, f"{one / two:.2f}", spread, f"{one:.2f}", f"{two:.2f}", shape.unit))
    remark = (
        f"µs by the clock, medians of {rounds} rounds; ratio of throughput, one process = 1, and of each round's pair"
    )
    return Table("Worker processes", remark, ("", "two", "from, to", "µs in one", "µs in two", "for a"), rows)


def growth(rounds: int, quick: bool, say: Callable[[str], None]) -> Table:
    """Time a tuple and memory, as tuples, tasks and pending tuples become more."""
    rows = []
    for tuples, tasks, pending, placement in _GROWTH:
        if quick and max(tuples, pending) > 300_000:
            continue
        of_tasks = f"{tasks:,} {'task' if tasks == 1 else 'tasks'} {_PLACES[placement]}"
        title = f"{max(tuples, pending):,} tuples, {of_tasks}, {pending:,} pending"
        say(f"growth: {title}")
        times = rounds if max(tuples, pending) < 1_000_000 else 1
        arguments = [str(value) for value in (tuples, tasks, pending, placement)]
        found = [in_process("benchmarks.growth", *arguments) for _ in range(times)]
        micros = statistics.median(one["micros"] for one in found)
        mib = statistics.median(one["mib"] for one in found)
        rows.append((title, f"{micros:,.2f}", f"{mib:,.1f}"))
    remark = f"medians of {rounds} rounds (of one from a million on); MiB: growth of the peak; start and stop included"
    return Table("Growth", remark, ("", "µs a tuple", "MiB"), rows)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    others = {"latency": latency, "workers": workers, "growth": growth}
    names = [*JOBS, *others]
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, two rounds")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each (5)")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"some of: {', '.join(names)}")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {_PAGE.name}")
    options = parser.parse_args()
    if options.write and (options.only or options.quick):
        parser.error("--write replaces all the tables by those of this run: it takes neither --only nor --quick")
    rounds = min(2, options.rounds) if options.quick else options.rounds
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    progress = Console(stderr=True)
    console.print(f"{machine()}, with {peers()}")
    tables = []
    with progress.status("") as status:
        for name in options.only or names:
            if name in JOBS:
                job = JOBS[name]
                table = of_job(job, measure(job, rounds, 0.1 if options.quick else 1.0, status.update))
            else:
                table = others[name](rounds, options.quick, status.update)
            tables.append(table)
            show(table, console)
    if options.write:
        write(tables, _PAGE)
        console.print(f"written to {_PAGE}")


if __name__ == "__main__":
    main()
