"""How executors hand each other work: a channel a task, a mailbox an executor, a doorbell to wake it.

Many threads put, one takes. May import: errors, clock, conf, model. Knows nothing of tuples, trees or user code.
"""

from fsshelter_py.channel.channel import Channel
from fsshelter_py.channel.doorbell import Doorbell, Switchboard
from fsshelter_py.channel.mailbox import Mailbox

__all__ = ["Channel", "Doorbell", "Mailbox", "Switchboard"]
