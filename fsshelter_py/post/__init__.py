"""How worker processes hand each other work: letters over ZeroMQ ipc, what is packed into them, and credit for it.

May import: errors, clock, conf, model, channel. Knows nothing of tasks and trees.
"""

from fsshelter_py.post.courier import Courier
from fsshelter_py.post.credit import Credit, Debt
from fsshelter_py.post.packing import pack, unpack
from fsshelter_py.post.post_office import PostOffice
from fsshelter_py.post.tuple_codec import TupleCodec, UnpackableTuple

__all__ = ["Courier", "Credit", "Debt", "PostOffice", "TupleCodec", "UnpackableTuple", "pack", "unpack"]
