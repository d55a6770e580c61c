"""Quiet logs, for a package of tests that fails tuples on purpose: import the fixture in its conftest."""

from collections.abc import Iterator

import pytest
import structlog

__all__ = ["quiet"]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Only critical events are logged; afterwards structlog is as it was, unconfigured if it was that."""
    was_configured, before = structlog.is_configured(), structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    yield
    if was_configured:
        structlog.configure(**before)
    else:
        structlog.reset_defaults()
