"""Storm-style stream topologies inside one Python process, every tuple tree tracked to its ack.

Inside, imports point one way: errors, clock, conf -> model -> build | channel | ack -> declare | route -> execute
-> host -> testing | sources | spark | ui | otel -> cli. This file is what users import.
"""

from fsshelter_py.conf import Conf
from fsshelter_py.declare.builder import Subscriptions, TopologyBuilder, topology
from fsshelter_py.declare.groupings import All, Custom, Direct, Global, Group, LocalOrShuffle, PartialKey, Shuffle
from fsshelter_py.errors import (
    ComponentError,
    ConfError,
    DeliveryError,
    EmitError,
    FsShelterError,
    GroupingError,
    SourceError,
    TopologyError,
    TopologyFailedError,
    TrackingError,
)
from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.host import Hosted, run, run_no_restart, run_with
from fsshelter_py.model.component import Bolt, Spout, Subscription
from fsshelter_py.model.context import Collector, Delivery, Emit, TaskContext
from fsshelter_py.model.grouping import Grouping
from fsshelter_py.model.outcome import END, DeadLetter, EndOfInput, NackReason, Tick
from fsshelter_py.model.schema import stream
from fsshelter_py.model.stats import ComponentStats, Stats, Summary
from fsshelter_py.model.topology import Stream, Topology

__all__ = [
    # declare
    "topology",
    "Topology",
    "TopologyBuilder",
    "Subscriptions",
    "Subscription",
    "Stream",
    "stream",
    "Spout",
    "Bolt",
    "Conf",
    # groupings
    "Grouping",
    "Shuffle",
    "Group",
    "All",
    "Direct",
    "Global",
    "LocalOrShuffle",
    "PartialKey",
    "Custom",
    # what user code is handed and hands back
    "Emit",
    "TaskContext",
    "Delivery",
    "Collector",
    "END",
    "EndOfInput",
    "Tick",
    "DeadLetter",
    "NackReason",
    # host
    "run",
    "run_with",
    "run_no_restart",
    "Hosted",
    "RuntimeTopology",
    "Stats",
    "ComponentStats",
    "Summary",
    # errors
    "FsShelterError",
    "TopologyError",
    "ConfError",
    "TopologyFailedError",
    "ComponentError",
    "EmitError",
    "GroupingError",
    "DeliveryError",
    "TrackingError",
    "SourceError",
]
