"""Running a topology in a test, to the end of its input."""

from __future__ import annotations

from fsshelter_py.host import run_no_restart
from fsshelter_py.model.stats import Summary
from fsshelter_py.model.topology import Topology

__all__ = ["run_to_end"]

_STOP_SECS = 2.0


def run_to_end(topology: Topology, timeout: float = 30.0) -> Summary:
    """Run a topology, with its threads, until its input has ended and every tuple is settled.

    Raises ``TopologyFailedError`` from the first unhandled error: nothing is restarted. Raises ``TimeoutError``, after
    having stopped it, where it has not ended in ``timeout`` seconds; the message tells what was unfinished.
    """
    hosted = run_no_restart(topology)
    try:
        return hosted.wait(timeout)
    except TimeoutError:
        stats = hosted.stats()
    finally:
        hosted.stop(_STOP_SECS)
    unfinished = [f"{c.component} {c.pending} pending, {c.queued} queued" for c in stats.components.values()]
    raise TimeoutError(
        f"topology {topology.name!r} has not ended after {timeout} s, and was stopped. It was {stats.state}, with "
        f"{stats.emitted} tuples emitted, {stats.acked} acked, {stats.failed} failed; {'; '.join(unfinished)}. "
        "Does every spout return END? Does every manual bolt settle its deliveries?"
    )
