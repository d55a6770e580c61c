"""The jobs as topologies, under several placements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.job import Job, Step, Tally, merged
from fsshelter_py import All, Bolt, Group, Shuffle, Spout, Subscription, TaskContext, run_no_restart, topology

__all__ = ["PLACEMENTS", "Placement", "prepare"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the tasks of a job run.

    parallelism: tasks of each bolt that the job does not say it for. own_threads: names of steps that get a thread
    each though they have one task, so that their tuples pass through rings.
    """

    pending: int = 128
    mode: Literal["auto", "shared", "per-task"] = "auto"
    parallelism: int = 1
    own_threads: tuple[str, ...] = ()


PLACEMENTS = {
    "fsshelter_py": Placement(),
    "fsshelter_py, pending 1,024": Placement(pending=1_024),
    "fsshelter_py, pending 8,192": Placement(pending=8_192),
    "fsshelter_py, every edge a ring": Placement(pending=1_024, own_threads=("split", "report")),
    "fsshelter_py, all on one thread": Placement(mode="shared"),
    "fsshelter_py, parallelism 2": Placement(pending=1_024, parallelism=2),
    "fsshelter_py, a thread a task": Placement(pending=1_024, mode="per-task"),
}


def prepare(job: Job, items: Sequence[Any], placement: Placement) -> Callable[[], Tally]:
    """What is to be timed: it runs the topology to its end."""
    last: list[Tally] = []

    def final(_: TaskContext) -> Tally:
        last.append({})
        return last[-1]

    def bolt(step: Step) -> Bolt:
        declared = Bolt.run(step.consume_async or step.consume, make_args=final if step is job.steps[-1] else _fresh)
        declared = declared.with_name(step.name).with_concurrency(step.at_once)
        declared = declared.with_parallelism(step.copies if step.copies > 1 else placement.parallelism)
        return declared.with_executors(1) if step.name in placement.own_threads else declared

    @topology(job.name)
    def of_job() -> Iterator[Subscription]:
        spout = Spout.replaying(lambda ctx: map(job.make, items)).with_name("source")
        bolts = [bolt(step) for step in job.steps]
        for source, step, target in zip([spout, *bolts], job.steps, bolts, strict=False):
            for cls in step.takes:
                if step.copies > 1:
                    yield source >> target | All.on(cls)
                elif step.key is not None:
                    yield source >> target | Group.by(cls, step.key)
                else:
                    yield source >> target | Shuffle.on(cls)

    built = of_job().with_conf(max_spout_pending=placement.pending, placement=placement.mode)

    def timed() -> Tally:
        summary = run_no_restart(built).wait()
        if summary.acked != len(items):
            raise AssertionError(f"{summary.acked} of {len(items)} tuples were acked")
        return merged(last)

    return timed


def _fresh(_: TaskContext) -> Tally:
    return {}
