"""The table of components that the live view and the summary show, fitted to the width there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from fsshelter_py.cli.figures import compact, latency
from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.stats import ComponentStats, Stats

__all__ = ["live_table", "summary_table"]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column; of those that do not fit the one of the highest ``rank`` goes first, and rank 0 stays."""

    title: str
    rank: int
    cell: Callable[[ComponentStats], str]


def live_table(stats: Stats, rates: Mapping[ComponentId, float], console: Console) -> Table:
    """What each component is doing now."""
    return _fitted(
        stats,
        [
            _Column("tasks", 6, lambda c: str(c.tasks)),
            _Column("rate/s", 0, lambda c: compact(rates.get(c.component, 0))),
            _Column("emitted", 5, lambda c: compact(c.emitted)),
            _Column("executed", 3, _executed(compact)),
            _Column("acked", 1, lambda c: compact(c.acked - c.letters_acked)),
            _Column("failed", 0, lambda c: _alarming(c.failed, compact)),
            _Column("pending", 2, lambda c: compact(c.pending + c.queued)),
            _Column("latency", 4, lambda c: latency(c.latency_ms)),
        ],
        console,
    )


def summary_table(stats: Stats, console: Console) -> Table:
    """What each component did in all."""
    columns = [
        _Column("tasks", 6, lambda c: str(c.tasks)),
        _Column("emitted", 4, lambda c: _exact(c.emitted)),
        _Column("executed", 3, _executed(_exact)),
        _Column("acked", 1, lambda c: _exact(c.acked - c.letters_acked)),
        _Column("failed", 0, lambda c: _alarming(c.failed, _exact)),
        _Column("latency", 5, lambda c: latency(c.latency_ms)),
    ]
    if stats.dead:
        columns.insert(-1, _Column("dead", 0, lambda c: _alarming(c.dead, _exact) if c.kind == "spout" else "-"))
    return _fitted(stats, columns, console)


def _fitted(stats: Stats, columns: list[_Column], console: Console) -> Table:
    while True:
        # A long name gives way before a figure does.
        table = _table(stats, columns, name_width=max(12, console.width // 3))
        width = Measurement.get(console, console.options.update(max_width=1000), table).maximum
        least = max(columns, key=lambda column: column.rank)
        if width <= console.width or least.rank == 0:
            return table
        columns = [column for column in columns if column is not least]


def _table(stats: Stats, columns: list[_Column], name_width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("component", no_wrap=True, overflow="ellipsis", max_width=name_width)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    for component in stats.components.values():
        table.add_row(component.component, *(column.cell(component) for column in columns))
    return table


def _executed(shown: Callable[[int], str]) -> Callable[[ComponentStats], str]:
    return lambda c: shown(c.executed) if c.kind == "bolt" else "-"


def _exact(number: int) -> str:
    return f"{number:,}"


def _alarming(number: int, shown: Callable[[int], str]) -> str:
    return f"[red]{shown(number)}[/red]" if number else shown(number)
