"""What the page is told of a hosted topology, ready for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol

from fsshelter_py.model.stats import HostState, Stats, Summary
from fsshelter_py.model.topology import Topology
from fsshelter_py.ui.layout import layout

__all__ = ["Watched", "graph", "has_ended", "snapshot"]


class Watched(Protocol):
    """What is asked of a hosted topology, from a thread of the page's; see ``fsshelter_py.Hosted``."""

    @property
    def topology(self) -> Topology:
        """What is run."""
        ...

    @property
    def state(self) -> HostState:
        """What it is doing."""
        ...

    @property
    def last_error(self) -> BaseException | None:
        """The last unhandled error."""
        ...

    def stats(self) -> Stats:
        """What it has done so far."""
        ...


def has_ended(hosted: Watched) -> bool:
    """Whether its counts stay as they are."""
    return hosted.state in ("stopped", "failed")


def snapshot(hosted: Watched) -> dict[str, Any]:
    """Its state, its counts in all and by component, and its last error; once it has ended, its summary too."""
    stats = hosted.stats()
    error = hosted.last_error
    told = {
        "topology": stats.topology,
        "state": stats.state,
        "uptime_secs": stats.uptime_secs,
        "restarts": stats.restarts,
        "emitted": stats.emitted,
        "acked": stats.acked,
        "failed": stats.failed,
        "dead": stats.dead,
        "pending": stats.pending,
        "unresolved": stats.unresolved,
        "last_error": None if error is None else f"{type(error).__name__}: {error}",
        "components": [asdict(component) for component in stats.components.values()],
    }
    if isinstance(stats, Summary):
        told |= {"ok": stats.ok, "nacks": dict(stats.nacks), "first_failures": list(stats.first_failures)}
    return told


def graph(hosted: Watched) -> dict[str, Any]:
    """Its graph, laid out."""
    return {"topology": hosted.topology.name, **asdict(layout(hosted.topology))}
