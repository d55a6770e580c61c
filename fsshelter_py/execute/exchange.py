"""The ways from this process's tasks to those of other worker processes, and what comes in by them.

What goes out is gathered by each executor's courier over a turn: bundles of one task for one task elsewhere, updates
for an acker elsewhere. It goes straight to the executor it is for, who reads it in its turn and puts it in the channels
of its tasks, as if it came from another executor here.

Where there are many executors, it goes to their process's postman instead, who does the same for all of them, so that
not each has to have files of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Any

from fsshelter_py.build.assignment import Assignment
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.leg import Leg
from fsshelter_py.execute.remote_channel import RemoteChannel
from fsshelter_py.execute.task import Task
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.message import AckerUpdates, ResetTimeout, Undelivered
from fsshelter_py.model.topology import Stream, Topology
from fsshelter_py.post import Courier, Credit, Debt, PostOffice, TupleCodec, pack, unpack

__all__ = ["Exchange"]

_MOST_ADDRESSES = 64
"""Executors of all processes together that may have an address each."""


class Exchange:
    """One process's ways to all others. ``functions`` are what the other processes' letters ask for."""

    def __init__(self, post: PostOffice, topology: Topology, assignment: Assignment) -> None:
        self._post = post
        self._streams = topology.streams
        self._capacity = {
            name: topology.conf_of(name).executor_receive_buffer_size for name in (*topology.spouts, *topology.bolts)
        }
        self._component_of = {task.task_id: task.component for task in assignment.tasks.values()}
        self._by_postman = len(assignment.executors) > _MOST_ADDRESSES
        self._address_of = {
            task_id: str(plan.worker) if self._by_postman else f"{plan.worker}-{plan.task_ids[0]}"
            for plan in assignment.executors
            for task_id in plan.task_ids
        }
        self._codecs: dict[int, TupleCodec] = {}
        self._credits: dict[tuple[str, TaskId], Credit] = {}
        self._debts: dict[tuple[str, TaskId], Debt] = {}
        self._legs = [Leg(s.id, s.source, anchored=s.anchored) for s in self._streams]
        self._tasks: Mapping[TaskId, Task]
        self.functions: Mapping[str, Callable[..., None]] = {
            "deliver": self._take_in,
            "repay": self._be_repaid,
            "update": self._update,
            "renew": self._renew,
            "beware": self._beware,
        }

    def join(self, tasks: Mapping[TaskId, Task]) -> None:
        """The tasks that what comes in is for; before anything does."""
        self._tasks = tasks

    def courier(self, task_id: TaskId) -> Courier:
        """A courier for the executor of this task."""
        return Courier(self._post, self._address_of[task_id])

    def endpoint(self, task_id: TaskId) -> str | None:
        """Where letters for this task's executor come to; None if the postman receives them."""
        return None if self._by_postman else self._post.endpoint(self._address_of[task_id])

    # --- out: the executors' threads --------------------------------------------------------------------------------

    def sink(self, task: Task, flow: Flow, stream: Stream, target: TaskId) -> RemoteChannel:
        """The way from a task of this process to one of another."""
        courier = flow.courier
        assert courier is not None
        me, number = courier.address, self._streams.index(stream)
        credit = self._credits.get((me, target))
        if credit is None:
            credit = self._credits[me, target] = Credit(self._capacity[self._component_of[target]])
        deliver = partial(courier.take, self._address_of[target], "deliver", me, number, target)
        return RemoteChannel(task, flow, stream, self._codec(number), credit, deliver)

    def put_to_acker(self, acker_id: TaskId, flow: Flow) -> Callable[[AckerUpdates | ResetTimeout], None]:
        """What gives an executor's messages to an acker of another process; what that tracks, it hears of there."""
        address, courier, post = self._address_of[acker_id], flow.courier, self._post
        assert courier is not None

        def put(message: AckerUpdates | ResetTimeout) -> None:
            if isinstance(message, ResetTimeout):  # by any thread
                post.send(address, [("renew", acker_id, message.anchor)])
                return
            fails = pack(message.fails) if message.fails else None
            courier.take(address, "update", acker_id, message.oks, fails, message.touched)

        return put

    def _codec(self, number: int) -> TupleCodec:
        codec = self._codecs.get(number)
        if codec is None:
            stream = self._streams[number]
            edge = f"{stream.source} >> {stream.target} on stream {stream.id}"
            codec = self._codecs[number] = TupleCodec(stream.cls, edge=edge)
        return codec

    # --- in: the executor's thread, or the postman's ----------------------------------------------------------------

    def read(self, letter: bytes) -> None:
        """Do what a letter to an executor asks for."""
        functions = self.functions
        for name, *arguments in self._post.read(letter):
            functions[name](*arguments)

    def _take_in(
        self, source: str, number: int, target: TaskId, anchors: Any, ids: Any, sizes: list[int], packed: bytes
    ) -> None:
        debt = self._debts.get((source, target))
        channel = self._tasks[target].channel
        assert channel is not None
        if debt is None:
            debt = self._debts[source, target] = Debt(channel, partial(self._repay, source, target))
        try:
            tuples = self._codec(number).unpack(packed)
        except BaseException as error:
            channel.put(Undelivered(anchors, self._streams[number].id, error))
            debt.forgive(sum(sizes))
            self._post.send(source, [("beware", number)])
            return
        leg = self._legs[number]
        ends = list(accumulate(sizes))
        bundles = [
            (leg, anchor, id, tuples[end - size : end])
            for anchor, id, size, end in zip(anchors, ids, sizes, ends, strict=True)
        ]
        debt.receive(bundles, len(tuples))

    def _repay(self, source: str, target: TaskId, tuples: int) -> None:
        self._post.send(source, [("repay", source, target, tuples)])

    def _be_repaid(self, me: str, target: TaskId, tuples: int) -> None:
        self._credits[me, target].repay(tuples)

    def _beware(self, number: int) -> None:
        """Tuples of a stream could not be unpacked there: from now on they take nobody else's along."""
        self._codec(number).singly = True

    def _update(self, acker_id: TaskId, oks: Any, fails: bytes | None, touched: Any) -> None:
        channel = self._tasks[acker_id].channel
        assert channel is not None
        channel.put(AckerUpdates([], oks, unpack(fails) if fails is not None else [], touched))

    def _renew(self, acker_id: TaskId, anchor: int) -> None:
        channel = self._tasks[acker_id].channel
        assert channel is not None
        channel.put(ResetTimeout(anchor))
