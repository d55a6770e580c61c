"""Figures for people, and rates."""

import pytest

from fsshelter_py.cli.figures import Rates, compact, elapsed, latency
from fsshelter_py.model.stats import ComponentStats, Stats


def at(seconds: float, emitted: int, executed: int = 0) -> Stats:
    """A snapshot of a spout and a bolt."""
    return Stats(
        topology="t",
        state="running",
        uptime_secs=seconds,
        restarts=0,
        components={
            "in": ComponentStats("in", "spout", 1, 1, emitted=emitted),
            "out": ComponentStats("out", "bolt", 1, 1, executed=executed),
        },
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.25, "0.2"), (7, "7"), (9999, "9999"), (10_000, "10.0k"), (1_234_567, "1.2M"), (5e9, "5.0G")],
)
def test_numbers_fit_a_column(number: float, text: str) -> None:
    """However large."""
    assert compact(number) == text


def test_times_are_in_the_unit_that_suits_them() -> None:
    """From microseconds to hours."""
    assert [latency(x) for x in (None, 0.0123, 3.21, 4500)] == ["-", "12 us", "3.2 ms", "4.5 s"]
    assert [elapsed(x) for x in (0.04, 59.9, 60, 3661)] == ["0.0 s", "59.9 s", "1:00", "1:01:01"]


def test_the_first_rate_counts_from_the_start() -> None:
    """A run shorter than the window has a rate too."""
    assert Rates().feed(at(2, 100, 50)) == {"in": 50, "out": 25}


def test_a_rate_forgets_what_is_older_than_the_window() -> None:
    """A topology that has become idle shows 0 after the window."""
    rates = Rates(window=3)
    for second in range(1, 5):
        rates.feed(at(second, 100))

    assert rates.feed(at(5, 100))["in"] == 0


def test_no_time_passed_is_no_rate() -> None:
    """Two snapshots at the same moment divide nothing by zero."""
    assert Rates().feed(at(0, 10)) == {"in": 0, "out": 0}
