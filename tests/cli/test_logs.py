"""Logs of the command."""

import json
from collections.abc import Iterator

import pytest
import structlog

from fsshelter_py.cli.logs import LogFormat, LogLevel, configure
from fsshelter_py.errors import SourceError


@pytest.fixture(autouse=True)
def _unconfigured() -> Iterator[None]:
    """Leave structlog as it was."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def logged(capsys: pytest.CaptureFixture[str], error: BaseException) -> str:
    """Log an error as something unhandled, and what came out on stderr."""
    try:
        raise error
    except type(error) as caught:
        structlog.get_logger().error("gone", exc_info=caught)
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_people_see_an_error_in_a_line_with_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback."""
    configure(LogFormat.CONSOLE, LogLevel.INFO, tracebacks=False)

    text = logged(capsys, ValueError("no good"))

    assert len(text.splitlines()) == 1
    assert "ValueError: no good" in text
    assert "test_logs.py:" in text


def test_people_see_tracebacks_when_they_ask(capsys: pytest.CaptureFixture[str]) -> None:
    """In full."""
    configure(LogFormat.CONSOLE, LogLevel.INFO, tracebacks=True)
    assert "Traceback (most recent call last)" in logged(capsys, ValueError("no good"))


def test_machines_get_tracebacks_but_of_an_unreadable_source(capsys: pytest.CaptureFixture[str]) -> None:
    """Whose words say all."""
    configure(LogFormat.JSON, LogLevel.INFO, tracebacks=False)

    assert "Traceback" in json.loads(logged(capsys, ValueError("x")))["exception"]
    event = json.loads(logged(capsys, SourceError("f: no")))
    assert event["error"] == "f: no"
    assert "exception" not in event


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    """And stdout is never written to."""
    configure(LogFormat.AUTO, LogLevel.ERROR, tracebacks=False)
    structlog.get_logger().warning("quiet")
    assert capsys.readouterr() == ("", "")
