"""Why a source tuple was acked or nacked: rotating map, tuple tree, acker.

Holds the algorithm of Storm's acker as plain calls: the caller tells what happened and when a period has passed, the
acker answers what was settled by it. May import: errors, clock, conf, model. No thread, no clock, no I/O.
"""

from fsshelter_py.ack.acker import Acker
from fsshelter_py.ack.rotating_map import RotatingMap
from fsshelter_py.ack.settled import Settled

__all__ = ["Acker", "RotatingMap", "Settled"]
