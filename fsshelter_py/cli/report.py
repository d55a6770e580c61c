"""What is told of a run where there is no live view: a log line every few seconds, and the summary at its end."""

from __future__ import annotations

from typing import Any, Self

from rich.console import Console
from rich.text import Text

from fsshelter_py.cli.figures import Rates, elapsed, plural
from fsshelter_py.cli.tables import summary_table
from fsshelter_py.model.stats import Stats, Summary

__all__ = ["LogView", "QuietView", "log_summary", "print_stats", "print_summary", "verdict"]

_FAILURES_SHOWN = 3


class QuietView:
    """Shows nothing."""

    interval = 5.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, stats: Stats, error: BaseException | None) -> None:
        """Nothing."""


class LogView(QuietView):
    """Logs a line at every ``show``."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._rates = Rates(window=self.interval)

    def show(self, stats: Stats, error: BaseException | None) -> None:
        """Log how far the topology is."""
        rates = self._rates.feed(stats)
        self._log.info(
            "progress",
            topology=stats.topology,
            state=stats.state,
            acked=stats.acked,
            failed=stats.failed,
            pending=stats.pending,
            rate=round(sum(rates.get(spout.component, 0) for spout in stats.spouts), 1),
            **({"restarts": stats.restarts, "error": repr(error)} if error is not None else {}),
        )


def verdict(summary: Summary) -> str:
    """How it ended, in one line."""
    text = f"{summary.topology}: {plural(summary.acked, 'tuple')} acked in {elapsed(summary.uptime_secs)}"
    if summary.restarts:
        text += f", {plural(summary.restarts, 'restart')}"
    if summary.ok:
        return text
    if summary.dead:
        text += f", {summary.dead:,} dead"
    lost = summary.unresolved - summary.dead
    if lost > 0:
        text += f", {lost:,} failed and not acked later"
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in summary.nacks.items() if count)
    return text + (f" (nacks: {kinds})" if kinds else "")


def print_summary(summary: Summary, console: Console) -> None:
    """The table, the verdict, and a few failures where there are any."""
    print_stats(summary, console)
    console.print(Text(verdict(summary), "green" if summary.ok else "red"))
    failures = dict.fromkeys(failure.strip().partition("\n")[0] for failure in summary.first_failures)
    for failure in list(failures)[:_FAILURES_SHOWN]:
        console.print(Text(f"  {failure}"), soft_wrap=True)


def print_stats(stats: Stats, console: Console) -> None:
    """The table of components."""
    console.print()
    console.print(summary_table(stats, console))


def log_summary(summary: Summary, log: Any) -> None:
    """The summary as one log event, for those who read the log by machine."""
    tell = log.info if summary.ok else log.warning
    tell(
        "finished",
        topology=summary.topology,
        ok=summary.ok,
        seconds=round(summary.uptime_secs, 3),
        restarts=summary.restarts,
        emitted=summary.emitted,
        acked=summary.acked,
        failed=summary.failed,
        dead=summary.dead,
        unresolved=summary.unresolved,
        nacks=dict(summary.nacks),
        first_failures=list(summary.first_failures),
        components={
            name: {
                "tasks": c.tasks,
                "emitted": c.emitted,
                "executed": c.executed,
                "acked": c.acked,
                "failed": c.failed,
                "latency_ms": c.latency_ms,
            }
            for name, c in summary.components.items()
        },
    )
