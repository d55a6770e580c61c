"""Tables of what was measured, for the terminal and for docs/performance.md."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.job import Job
from benchmarks.measure import Series

__all__ = ["Table", "machine", "of_job", "peers", "show", "write"]

_BEGIN = "<!-- Written by make bench, up to the end mark: edit benchmarks/ instead. -->"
_END = "<!-- End of what make bench writes. -->"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a remark, and rows under a heading; every cell but the first is a figure."""

    title: str
    remark: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


def of_job(job: Job, measured: Sequence[Series]) -> Table:
    """Throughput as a ratio to bytewax's, or where that cannot do the job well, to a hand-written peer's."""
    by_name = {series.contestant: series for series in measured}
    wanted = "asyncio with queues" if job.name == "io" else "bytewax"
    base = by_name.get(wanted) or by_name["plain loop"]
    rows = [
        (
            series.contestant,
            "acked" if series.contestant.startswith("fsshelter_py") else "no",
            f"{base.median / series.median:.2f}",
            f"{base.cpu_median / series.cpu_median:.2f}",
            _micros(series.median),
            f"{_micros(min(series.micros))} to {_micros(max(series.micros))}",
            _micros(series.cpu_median),
        )
        for series in measured
    ]
    remark = (
        f"µs a {job.unit}, median and extremes of {len(base.micros)} rounds; ratio of throughput, {base.contestant} = 1"
    )
    return Table(job.title, remark, ("", "acked", "ratio", "by CPU", "µs", "from, to", "µs of CPU"), rows)


def _micros(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def machine() -> str:
    """The machine and the interpreter, in words."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    free = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, {python}{free}"


def peers() -> str:
    """The libraries that were measured beside this one, with their versions."""
    names = [name for name in ("bytewax", "streamz", "reactivex") if find_spec(name) is not None]
    return ", ".join(f"{name} {version(name)}" for name in names) or "no other library"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def show(table: Table, console: Console) -> None:
    """Print a table."""
    rich = RichTable(title=table.title, caption=table.remark, box=box.SIMPLE, title_justify="left")
    for index, name in enumerate(table.heading):
        rich.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in table.rows:
        rich.add_row(*row)
    console.print(rich)


def write(tables: Sequence[Table], path: Path) -> None:
    """Put the tables into a page, in place of those there. Raises ``ValueError`` for a page without the marks."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{path} has no marks between which to write: {_BEGIN} and {_END}")
    parts = [f"Measured on: {machine()}, with {peers()}."]
    for table in tables:
        lines = [f"### {table.title}", "", f"{table.remark}.", ""]
        lines += ["| " + " | ".join(table.heading) + " |", "| --- |" + " ---: |" * (len(table.heading) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in table.rows]
        parts.append("\n".join(lines))
    path.write_text(f"{before}{begin}\n\n" + "\n\n".join(parts) + f"\n\n{end}{after}", encoding="utf-8")
