"""What may be closed, cancelled or answered too late at a stop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fsshelter_py import Bolt, Emit, NackReason, Spout, run_no_restart
from fsshelter_py.testing import ListSpout
from tests.shapes import Number, linked, numbers

PROGRAM = """
from fsshelter_py import Bolt
from fsshelter_py.testing import ListSpout, run_to_end
from tests.shapes import linked, numbers
bolt = Bolt.run(lambda number, emit: None).with_parallelism(2)
assert run_to_end(linked((ListSpout(numbers(10)).spout, bolt), workers=WORKERS), timeout=20).ok
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_standard_streams_may_be_closed(closed: str, workers: int) -> None:
    """As a service manager does; with workers, theirs are closed too."""
    program = PROGRAM.replace("WORKERS", str(workers))
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert subprocess.run(command, env=environment, timeout=60).returncode == 0


def test_deactivate_comes_after_the_calls_it_cancelled() -> None:
    """Which are cancelled once, so that what they do about it is not cut short."""
    happened: list[str] = []
    begun = threading.Event()

    async def consume(args: None, number: Number, emit: Emit[None]) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.02)
            happened.append("cleaned up")

    bolt = Bolt.run(consume, make_args=lambda ctx: None, deactivate=lambda args: happened.append("deactivated"))
    with run_no_restart(linked((ListSpout(numbers(1)).spout, bolt))) as hosted:
        begun.wait(10)
        hosted.stop(0)
    assert happened == ["cleaned up", "deactivated"]


@pytest.mark.parametrize("kind", ["blocks", "takes its time"])
def test_async_spout_gives_back_what_it_was_answered_too_late(kind: str) -> None:
    """After it was given up: a source with a queue of its own must hear of it."""
    asked, told = threading.Event(), threading.Event()
    nacked: list[tuple[int, str]] = []

    async def answer(args: Any) -> Any:
        asked.set()
        try:
            await asyncio.sleep(0 if kind == "blocks" else 60)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
        if kind == "blocks":
            time.sleep(1)
        return 1, Number(1)

    def nack(number: int, reason: NackReason) -> None:
        nacked.append((number, reason.kind))
        told.set()

    spout = Spout.run_reliable(answer, make_acker=lambda args: (lambda number: None, nack))
    with run_no_restart(linked((spout, Bolt.run(lambda number, emit: None)))) as hosted:
        asked.wait(10)
        hosted.stop(0)
    assert told.wait(10)
    assert nacked == [(1, "stopped")]
