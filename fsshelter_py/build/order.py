"""The order in which a topology's components are stopped."""

from __future__ import annotations

from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.order import in_order
from fsshelter_py.model.topology import Topology

__all__ = ["topological"]


def topological(topology: Topology) -> tuple[ComponentId, ...]:
    """The topology's components, each after all that it receives from."""
    return in_order((*topology.spouts, *topology.bolts), ((s.source, s.target) for s in topology.streams))
