"""The runtime: tasks, the executors that serve them, and a topology made of both.

May import: errors, clock, conf, model, build, channel, ack, route (and declare, which it does not need).
"""

from fsshelter_py.execute.runtime import RuntimeTopology

__all__ = ["RuntimeTopology"]
