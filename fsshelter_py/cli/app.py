"""The commands of ``fsshelter``.

stdout is for what the user asked for: their topology's own prints, a description, a graph. The live view, logs, the
summary and errors go to stderr.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer
from rich.console import Console

from fsshelter_py.build.describe import describe as description
from fsshelter_py.build.graph import dot
from fsshelter_py.cli import drawing, report, template, watching
from fsshelter_py.cli.duration import seconds
from fsshelter_py.cli.failure import failure
from fsshelter_py.cli.figures import plural
from fsshelter_py.cli.live import LiveView
from fsshelter_py.cli.logs import LogFormat, LogLevel, configure
from fsshelter_py.cli.prints import Prints
from fsshelter_py.cli.problem import FAILED, UNREAD, UNSETTLED, Problem, told
from fsshelter_py.cli.session import Session, View
from fsshelter_py.cli.topologies import Target
from fsshelter_py.clock import MonotonicClock
from fsshelter_py.errors import TopologyFailedError
from fsshelter_py.execute.share import check_shares
from fsshelter_py.garbage import collect_less
from fsshelter_py.host import run as host
from fsshelter_py.host import run_no_restart as host_once

__all__ = ["main"]

app = typer.Typer(
    name="fsshelter",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[
    str, typer.Argument(metavar="FILE[:NAME]", help="A topology file; NAME picks one of several topologies in it.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the topology function. Repeatable."),
]
Options = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="An option; wins over those in the file. Repeatable."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Spread the tasks over this many processes."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks, of an error and in logs for people.")]


def main() -> None:
    """The command's entry point."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
    app()


def _version(asked: bool) -> None:
    if asked:
        print(f"fsshelter {version('fsshelter_py')}")
        raise typer.Exit


@app.callback()
def fsshelter(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run Storm-style stream topologies inside one Python process."""


def _limit(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _address(text: str) -> watching.Address:
    try:
        return watching.Address.of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@app.command()
def run(
    file: File,
    settings: Settings = None,
    options: Options = None,
    limit: Annotated[
        float | None,
        typer.Option("--for", metavar="DURATION", parser=_limit, help="Drain after 30s, 5m, 1h30m, 250ms, ..."),
    ] = None,
    workers: Workers = None,
    no_restart: Annotated[bool, typer.Option("--no-restart", help="Fail at the first failure.")] = False,
    log_format: Annotated[
        LogFormat, typer.Option("--log-format", help="For people, as JSON lines, or by whether stderr is a terminal.")
    ] = LogFormat.AUTO,
    log_level: Annotated[LogLevel, typer.Option("--log-level", help="Log this and worse.")] = LogLevel.INFO,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show only what went wrong: no view, no progress, no summary.")
    ] = False,
    ui: Annotated[
        watching.Address | None,
        typer.Option(
            "--ui",
            metavar="[HOST:]PORT",
            parser=_address,
            help="Show it in the browser as well; port 0 is any free one.",
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Run a topology to the end of its input.

    On a terminal a live view shows what it is doing, elsewhere a log line does every few seconds.

    Exit code 0: every tuple was acked; 3: some were not; 1: the topology failed; 2: it cannot be run as given;
    130 and 143: ended by Ctrl-C or SIGTERM. The first of these drains, a second one ends at once.
    """
    level = LogLevel.WARNING if quiet and log_level in (LogLevel.DEBUG, LogLevel.INFO) else log_level
    configure(log_format, level, tracebacks=debug)
    target = Target(file, settings or (), _forced(options, workers))
    with told(debug=debug):
        with Prints().installed() as prints, watching.shown_at(ui) as shown:
            view = _view(prints, log_format, quiet=quiet)
            session = Session(shown(host_once if no_restart else host), view, MonotonicClock(), limit)
            prints.on_broken = session.drain
            code = _run(target, session, machine_read=log_format is LogFormat.JSON, quiet=quiet)
        # What is written last may be what finds nobody reading, or no room.
        if prints.lost is not None:
            lost = f"some of what it printed is lost: {prints.lost.strerror}"
            raise Problem(lost, exit_code=FAILED, cause=prints.lost)
        raise typer.Exit(UNREAD if prints.broken else code)


def _forced(options: list[str] | None, workers: int | None) -> list[str]:
    return [*(options or ()), *([f"workers={workers}"] if workers is not None else [])]


def _run(target: Target, session: Session, *, machine_read: bool, quiet: bool) -> int:
    topology = target.topology()
    collect_less()
    log: Any = structlog.get_logger()
    try:
        summary = session.run(topology)
    except TopologyFailedError as error:
        if session.last is not None and session.last.emitted and not (machine_read or quiet):
            report.print_stats(session.last, _console())
        raise failure(error) from error
    if machine_read:
        report.log_summary(summary, log)
    elif not quiet:
        report.print_summary(summary, _console())
    elif not summary.ok:
        print(report.verdict(summary), file=sys.stderr)
    if session.signalled is not None:
        return session.signalled
    return 0 if summary.ok else UNSETTLED


def _view(prints: Prints, log_format: LogFormat, *, quiet: bool) -> View:
    console = _console()
    if quiet:
        return report.QuietView()
    if log_format is not LogFormat.JSON and console.is_terminal and not console.is_dumb_terminal:
        return LiveView(console, prints)
    return report.LogView(structlog.get_logger())


def _console() -> Console:
    """stderr, and wide enough for every figure where that is not a terminal."""
    stream = sys.__stderr__ or sys.stderr
    return Console(file=stream, highlight=False, width=None if stream.isatty() else 120)


@app.command()
def check(
    file: File, settings: Settings = None, options: Options = None, workers: Workers = None, debug: Debug = False
) -> None:
    """Build and validate a topology, no more; with workers, whether what they need can be sent to them too."""
    with told(debug=debug):
        topology = Target(file, settings or (), _forced(options, workers)).topology()
        check_shares(topology)
        parts = (plural(len(topology.spouts), "spout"), plural(len(topology.bolts), "bolt"))
        print(f"{topology.name}: {', '.join(parts)}, {plural(len(topology.streams), 'stream')}: ok")


@app.command()
def describe(
    file: File, settings: Settings = None, options: Options = None, workers: Workers = None, debug: Debug = False
) -> None:
    """Describe components, streams and placement."""
    with told(debug=debug):
        print(description(Target(file, settings or (), _forced(options, workers)).topology()))


@app.command()
def graph(
    file: File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="An .svg, .png, .pdf or .dot file; DOT on stdout without it.")
    ] = None,
    colour: Annotated[bool, typer.Option("--colour", "--color", help="A colour for each stream.")] = False,
    settings: Settings = None,
    options: Options = None,
    debug: Debug = False,
) -> None:
    """Draw a topology.

    Anchored streams are solid and unanchored ones dotted; a node tells its number of tasks.
    """
    with told(debug=debug):
        drawn = dot(Target(file, settings or (), options or ()).topology(), colour=colour)
        if output is None:
            sys.stdout.write(drawn)
        else:
            drawing.save(drawn, output)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What the topology is called, such as word_count.")], debug: Debug = False
) -> None:
    """Write a topology to start from, and its test."""
    with told(debug=debug):
        file, test = template.write(name, Path())
        print(f"wrote {file} and {test}\n  fsshelter run {file}\n  python -m pytest {test}")
