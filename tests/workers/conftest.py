"""Quiet logs, and no process left behind."""

import os
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path

import pytest
import structlog


def children() -> set[int]:
    """The processes this one has started, and that have not ended; but not the standard library's own, which stays."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found.add(int(stat.parent.name))
    return found - {getattr(resource_tracker._resource_tracker, "_pid", None)}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    config = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    before = children()
    yield
    structlog.configure(**config)
    assert children() <= before
