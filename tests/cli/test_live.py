"""The live view and the tables, drawn on a terminal of a given width."""

import io
from contextlib import redirect_stdout

import pytest
from rich.console import Console

from fsshelter_py.cli.live import LiveView
from fsshelter_py.cli.prints import Prints
from fsshelter_py.cli.tables import live_table, summary_table
from fsshelter_py.model.stats import ComponentStats, Stats

STATS = Stats(
    topology="word-count",
    state="running",
    uptime_secs=2.0,
    restarts=0,
    components={
        "sentences": ComponentStats("sentences", "spout", 1, 1, emitted=1234, acked=1200, failed=4, pending=30, dead=1),
        "a-component-of-a-rather-long-name": ComponentStats(
            "a-component-of-a-rather-long-name", "bolt", 2, 2, executed=123_456, acked=123_456, queued=7, latency_ms=1.5
        ),
    },
)


TITLES = ["tasks", "rate/s", "emitted", "executed", "acked", "failed", "pending", "latency"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def console(width: int) -> Console:
    """A terminal in memory."""
    return Console(file=io.StringIO(), width=width, height=24, force_terminal=True, color_system=None)


def drawn(on: Console) -> str:
    """What was written to it."""
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def test_a_wide_terminal_shows_every_figure() -> None:
    """Tasks, rate, executed, acked, failed, pending, latency."""
    on = console(120)
    on.print(live_table(STATS, {"sentences": 617.0}, on))

    head, spout, bolt = drawn(on).splitlines()
    assert head.replace("component", "").split() == TITLES
    assert spout.split() == ["sentences", "1", "617", "1234", "-", "1200", "4", "30", "-"]
    assert bolt.split()[1:] == ["2", "0", "0", "123.5k", "123.5k", "0", "7", "1.5", "ms"]


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Columns are left out, and names cut, before figures are; what matters most stays."""
    on = console(width)
    on.print(live_table(STATS, {}, on))
    on.print(summary_table(STATS, on))

    lines = drawn(on).splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) == 6
    assert "failed" in lines[0]


def test_dead_tuples_have_a_column_where_there_are_any() -> None:
    """Only there."""
    on = console(100)
    on.print(summary_table(STATS, on))
    assert "dead" in drawn(on)


def test_prints_are_written_as_they_are_above_the_view() -> None:
    """Not wrapped, not parsed as markup, and before the view is drawn again."""
    on = console(60)
    line = "[red]x[/red] " * 20
    with redirect_stdout(Terminal()), Prints().installed() as prints, LiveView(on, prints) as view:
        view.show(STATS, None)
        print(line)
        view.show(STATS, ValueError("boom\nmore"))

    text = drawn(on)
    assert line + "\n" in text
    assert text.index(line) < text.rindex("word-count")
    assert "ValueError: boom" in text
    assert "more" not in text
