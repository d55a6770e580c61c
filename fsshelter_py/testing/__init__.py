"""What tests of a topology need: a clock that stands still, a spout of a list, a bolt that collects, a stepped run.

May import everything but sources, spark, ui and cli. Meant for users' own tests as much as for this project's.
"""

from fsshelter_py.testing.collect_bolt import CollectBolt
from fsshelter_py.testing.harness import TopologyHarness
from fsshelter_py.testing.list_spout import ListSpout
from fsshelter_py.testing.manual_clock import ManualClock
from fsshelter_py.testing.run_to_end import run_to_end

__all__ = ["CollectBolt", "ListSpout", "ManualClock", "TopologyHarness", "run_to_end"]
