"""Durations on the command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.cli.duration import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30s", 30), ("5m", 300), ("1h30m", 5400), ("250ms", 0.25), ("2d", 172800), ("7", 7), ("0", 0), (" 1.5h ", 5400)],
)
def test_units_and_plain_seconds_are_read(text: str, expected: float) -> None:
    """Each unit, a chain of them, and a plain number of seconds."""
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "abc", "-5s", "3x", "1h??30m", "inf", "nan", "1e3", "5 m", "s", "٣s"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    """The message quotes what was given and shows what is meant."""
    with pytest.raises(ValueError, match="such as 30s"):
        seconds(text)


@given(st.integers(0, 10**6), st.integers(0, 59))
def test_parts_add_up(minutes: int, rest: int) -> None:
    """A chain is the sum of its parts."""
    assert seconds(f"{minutes}m{rest}s") == minutes * 60 + rest
