"""Rounds of measurements: every contestant once a round, in an order that moves on, each in a process of its own.

So what else the machine does for a while meets all contestants alike, and none finds what another left behind.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contestant import contestants
from benchmarks.job import Job

__all__ = ["Series", "in_process", "measure"]

_ROOT = Path(__file__).parent.parent


@dataclass(slots=True)
class Series:
    """What one contestant took in each round, in µs a unit: by the clock, and of the processor's time."""

    contestant: str
    micros: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.micros)

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu)


def measure(job: Job, rounds: int, scale: float, say: Callable[[str], None]) -> list[Series]:
    """The series of every contestant that is installed, in their usual order. ``scale``: of the job's size."""
    series = {name: Series(name) for name in contestants(job)}
    for number in range(rounds):
        names = list(series)
        at = number % len(names)
        for name in names[at:] + names[:at]:
            say(f"{job.name}: round {number + 1} of {rounds}: {name}")
            size = max(1, round(job.size * scale * job.shares.get(name, 1.0)))
            result = in_process("benchmarks.contestant", job.name, name, str(size))
            if "missing" in result:
                say(f"{job.name}: {name} is left out: {result['missing']} is not installed")
                del series[name]
                continue
            series[name].micros.append(result["seconds"] / result["units"] * 1e6)
            series[name].cpu.append(result["cpu"] / result["units"] * 1e6)
    return list(series.values())


def in_process(module: str, *arguments: str) -> Any:
    """What a module prints as JSON. Raises ``RuntimeError`` with what it said where it failed."""
    command: Sequence[str] = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
