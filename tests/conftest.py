"""What every test leaves as it found it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _structlog_as_before() -> Iterator[None]:
    """A program that has not configured structlog gets other logs, so that must not depend on the tests before."""
    was_configured, config = structlog.is_configured(), structlog.get_config()
    yield
    if was_configured:
        structlog.configure(**config)
    else:
        structlog.reset_defaults()
