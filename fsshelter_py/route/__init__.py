"""Where an emitted tuple goes: the stable key hash and a grouper for each grouping.

May import: errors, model. No thread, no clock, no I/O.
"""

from fsshelter_py.route.grouper import Grouper, direct_index, make_grouper
from fsshelter_py.route.key_hash import stable_hash

__all__ = ["Grouper", "direct_index", "make_grouper", "stable_hash"]
