"""The live view: a terminal's lower lines show what every component is doing."""

from __future__ import annotations

from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text

from fsshelter_py.cli.figures import Rates, compact, elapsed
from fsshelter_py.cli.prints import Prints
from fsshelter_py.cli.problem import brief
from fsshelter_py.cli.tables import live_table
from fsshelter_py.model.stats import Stats

__all__ = ["LiveView"]

_STATE_STYLES = {"running": "green", "restarting": "yellow", "failed": "red"}


class LiveView:
    """Draws itself again at every ``show``; what user code prints meanwhile appears above it."""

    interval = 0.25

    def __init__(self, console: Console, prints: Prints) -> None:
        self._console = console
        self._prints = prints
        self._rates = Rates()
        # It draws when told to, and takes the streams itself: rich would wrap, parse and colour what users print.
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False, transient=True
        )

    def __enter__(self) -> Self:
        self._live.start()
        self._prints.hold(self._above)
        return self

    def __exit__(self, *_: object) -> None:
        self._prints.release()
        self._live.stop()

    def show(self, stats: Stats, error: BaseException | None) -> None:
        """Show this snapshot, and the last error where there is one."""
        self._prints.drain()
        self._live.update(self._drawn(stats, error), refresh=True)

    def _drawn(self, stats: Stats, error: BaseException | None) -> RenderableType:
        rates = self._rates.feed(stats)
        head = Text.assemble(
            (stats.topology, "bold"),
            "  ",
            (stats.state, _STATE_STYLES.get(stats.state, "cyan")),
            f"  {elapsed(stats.uptime_secs)}  acked {stats.acked:,}  failed {stats.failed:,}",
            f"  restarts {stats.restarts}" if stats.restarts else "",
            f"  {compact(sum(rates.get(c.component, 0) for c in stats.spouts))}/s",
            "  (Ctrl-C ends it at once)" if stats.state == "draining" else "",
            no_wrap=True,
            overflow="ellipsis",
        )
        table = live_table(stats, rates, self._console)
        if error is None:
            return Group("", head, table)
        return Group("", head, table, Text(brief(error), "red", no_wrap=True, overflow="ellipsis"))

    def _above(self, text: str) -> None:
        self._console.print(_AsIs(text), end="", soft_wrap=True)


class _AsIs:
    """Text that rich writes as it is: not wrapped, not parsed, not coloured."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self._text)
