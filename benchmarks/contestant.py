"""One measurement, in a process of its own: ``python -m benchmarks.contestant JOB CONTESTANT SIZE`` prints it as JSON.

Not timed: starting Python, loading libraries and the input, building. Timed: everything from the first thread started
to the last one ended. A wrong outcome is an error, in every run.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from benchmarks import workloads
from benchmarks.job import Job, Tally
from benchmarks.number_jobs import NUMBER_JOBS
from benchmarks.peers import PEERS
from benchmarks.word_jobs import WORD_JOBS
from benchmarks.workloads import PLACEMENTS
from fsshelter_py.garbage import collect_less

__all__ = ["JOBS", "contestants", "main"]

JOBS: dict[str, Job] = {job.name: job for job in (*WORD_JOBS, *NUMBER_JOBS)}


_ALL_PEERS = tuple(PEERS)
_NO_STRINGS = tuple(name for name in PEERS if name != "bytewax, bare strings")
_DEFAULT = "fsshelter_py"
_ON_THREADS = "fsshelter_py, a thread a task"

_CONTESTANTS = {
    "words": (*_ALL_PEERS, *(name for name in PLACEMENTS if name != "fsshelter_py, all on one thread")),
    "lean": (*_ALL_PEERS, *(name for name in PLACEMENTS if name != "fsshelter_py, all on one thread")),
    "all": (*_NO_STRINGS, _DEFAULT, "fsshelter_py, all on one thread"),
    "cpu": ("plain loop", "bytewax", "threads with queues", _DEFAULT, "fsshelter_py, parallelism 2"),
    "io": ("plain loop", "bytewax", "threads with queues", "asyncio with queues", _DEFAULT),
}
"""Who is asked: a callback that waits or computes says nothing of what calls it."""


def contestants(job: Job) -> tuple[str, ...]:
    """Who does a job."""
    return _CONTESTANTS.get(job.name, (*_NO_STRINGS, _DEFAULT, _ON_THREADS))


def prepare(job: Job, contestant: str, items: Sequence[Any]) -> Callable[[], Tally]:
    """What is to be timed. Raises ``ModuleNotFoundError`` where the contestant is not installed."""
    placement = PLACEMENTS.get(contestant)
    return PEERS[contestant](job, items) if placement is None else workloads.prepare(job, items, placement)


def main(job_name: str, contestant: str, size: str) -> None:
    """Measure once."""
    job = JOBS[job_name]
    items = job.items(int(size))
    try:
        timed = prepare(job, contestant, items)
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))
        return
    collect_less()
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = perf_counter()
    outcome = timed()
    seconds = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    if outcome != job.expected(items):
        sys.exit(f"{contestant} got {job_name} wrong: {sum(outcome.values())} tallied, or not of the right things")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"seconds": seconds, "cpu": cpu, "units": job.units(outcome)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
