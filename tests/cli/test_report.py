"""The verdict on a run, its log lines and its summary."""

import io
from dataclasses import replace

import structlog
from rich.console import Console

from fsshelter_py.cli.report import LogView, log_summary, print_summary, verdict
from fsshelter_py.model.stats import ComponentStats, Summary

SPOUT = ComponentStats("in", "spout", 1, 1, emitted=1003, acked=1000, failed=5, dead=2, unresolved=3)
GOOD = Summary(
    topology="t",
    state="stopped",
    uptime_secs=1.25,
    restarts=0,
    components={"in": replace(SPOUT, failed=0, dead=0, unresolved=0)},
)
BAD = replace(
    GOOD,
    restarts=1,
    components={"in": SPOUT},
    nacks={"failed": 4, "timeout": 1, "stopped": 0},
    first_failures=("failed in b (task 3): ValueError: no\nsecond line", "two", "two", "three", "four"),
)


def test_a_good_run_is_told_in_one_plain_line() -> None:
    """Nothing of failures where there were none."""
    assert verdict(GOOD) == "t: 1,000 tuples acked in 1.2 s"


def test_a_bad_run_tells_what_is_missing_and_why() -> None:
    """Dead ones, unresolved ones, restarts, and the nacks by kind."""
    assert verdict(BAD) == (
        "t: 1,000 tuples acked in 1.2 s, 1 restart, 2 dead, 1 failed and not acked later (nacks: failed 4, timeout 1)"
    )


def test_the_summary_shows_the_first_failures_in_a_line_each() -> None:
    """A few of them."""
    console = Console(file=io.StringIO(), width=100)
    print_summary(BAD, console)
    assert isinstance(console.file, io.StringIO)

    lines = console.file.getvalue().splitlines()
    assert lines[-3:] == ["  failed in b (task 3): ValueError: no", "  two", "  three"]
    assert "second line" not in console.file.getvalue()


def test_progress_is_one_log_event_with_the_figures() -> None:
    """With the error where there is one."""
    with structlog.testing.capture_logs() as logged:
        LogView(structlog.get_logger()).show(GOOD, None)
        LogView(structlog.get_logger()).show(BAD, ValueError("x"))

    assert logged[0] == {
        "event": "progress",
        "log_level": "info",
        "topology": "t",
        "state": "stopped",
        "acked": 1000,
        "failed": 0,
        "pending": 0,
        "rate": 802.4,
    }
    assert logged[1]["error"] == "ValueError('x')"


def test_the_summary_as_a_log_event_warns_where_tuples_are_missing() -> None:
    """For those who read the log by machine."""
    with structlog.testing.capture_logs() as logged:
        log_summary(GOOD, structlog.get_logger())
        log_summary(BAD, structlog.get_logger())

    assert [(event["log_level"], event["ok"]) for event in logged] == [("info", True), ("warning", False)]
    assert logged[1]["nacks"] == {"failed": 4, "timeout": 1, "stopped": 0}
    assert logged[1]["components"]["in"]["acked"] == 1000
