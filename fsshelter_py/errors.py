"""The exception tree. Imports nothing of this package.

FsShelterError
├── TopologyError            the topology cannot be built; carries every problem found
├── ConfError                an option is unknown, of the wrong type or out of range
├── TopologyFailedError      a hosted topology failed for good; raised from the original exception
├── ComponentError           user code or a component failed where nothing handles it
├── EmitError                a tuple cannot be emitted: wrong class, wrong time, wrong task
├── GroupingError            a tuple cannot be routed: no stable key, an unknown task
├── DeliveryError            a delivery was settled twice, or used after it was settled
├── TrackingError            the stand-alone tracker was called with something it cannot track
├── WorkerDiedError          a worker process ended without having been told to
└── SourceError              a source cannot be read; says which one and where
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ComponentError",
    "ConfError",
    "DeliveryError",
    "EmitError",
    "FsShelterError",
    "GroupingError",
    "SourceError",
    "TopologyError",
    "TopologyFailedError",
    "TrackingError",
    "WorkerDiedError",
]


class FsShelterError(Exception):
    """The root of every error this package raises."""


class TopologyError(FsShelterError):
    """A topology that cannot be built.

    ``problems`` holds one sentence for each problem found; all of them are reported together.
    """

    def __init__(self, topology: str, problems: Sequence[str]) -> None:
        self.topology = topology
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"topology {topology!r} has {count}:{lines}")


class ConfError(FsShelterError, ValueError):
    """An option that is unknown, of the wrong type or out of range. ``problems`` holds one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class TopologyFailedError(FsShelterError):
    """A hosted topology that failed and is not restarted any more.

    It is raised from the exception that made it fail; ``errors`` holds all that were seen in the last attempt.
    """

    def __init__(self, message: str, errors: Sequence[BaseException] = ()) -> None:
        self.errors = tuple(errors)
        super().__init__(message)


class ComponentError(FsShelterError):
    """User code failed where no tuple can be blamed: a spout's ``next``, a handler, ``make_args``."""

    def __init__(self, message: str, *, component: str, task_id: int) -> None:
        self.component = component
        self.task_id = task_id
        super().__init__(f"{component} (task {task_id}): {message}")


class EmitError(FsShelterError, TypeError):
    """A tuple that cannot be emitted: it is of no stream class, or the emit came at the wrong time."""


class GroupingError(FsShelterError, ValueError):
    """A tuple that cannot be routed: its key has no stable hash, or the chosen task does not exist."""


class DeliveryError(FsShelterError):
    """A delivery that was settled before: a second ack or fail, or an emit anchored to it."""


class TrackingError(FsShelterError, ValueError):
    """A tag or a stamp that the stand-alone tracker cannot take."""


class SourceError(FsShelterError):
    """A source that cannot be read. The message names the source and the place in it."""


class WorkerDiedError(FsShelterError):
    """A worker process that ended without having been told to: killed, out of memory, or crashed in native code."""

    def __init__(self, worker: int, exit_code: int | None, when: str = "") -> None:
        self.worker = worker
        self.exit_code = exit_code
        by = f"by signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"with exit code {exit_code}"
        super().__init__(f"worker process {worker} ended {by}{when}")
