"""The ways from this process's tasks to those of other worker processes, and what comes in by them.

What goes out: a turn's bundles of one task for one task elsewhere, as one letter; a turn's updates for an acker
elsewhere. Sent by the executors' threads. What comes in is put in the tasks' channels by the postman, who never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from fsshelter_py.build.assignment import Assignment
from fsshelter_py.channel import Mailbox
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.leg import Leg
from fsshelter_py.execute.task import Task
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.message import AckerUpdates, ResetTimeout, Undelivered
from fsshelter_py.model.outcome import NackReason
from fsshelter_py.model.topology import Stream, Topology
from fsshelter_py.post import Credit, Debt, PostOffice, TupleCodec

__all__ = ["Exchange", "RemoteChannel"]


class RemoteChannel:
    """The way from one task to one of another process, for one stream. Used by the emitting task's executor only."""

    __slots__ = ("_codec", "_credit", "_deliver", "_flow", "_stream", "_task")

    def __init__(
        self,
        task: Task,
        flow: Flow,
        stream: Stream,
        codec: TupleCodec,
        credit: Credit,
        deliver: Callable[..., None],
    ) -> None:
        """deliver: sends ``(anchors, ids, sizes of the bundles, their tuples packed)`` to the receiving task."""
        self._task = task
        self._flow = flow
        self._stream = stream
        self._codec = codec
        self._credit = credit
        self._deliver = deliver

    def offer(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> int:
        """Send bundles as far as there is credit; returns how many. If not all, ``me`` is poked when there is more."""
        count = self._credit.draw(bundles, me)
        if count:
            self._send(bundles if count == len(bundles) else bundles[:count], me)
        return count

    def _send(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> None:
        try:
            packed = self._packed(bundles)
        except BaseException:
            bundles = self._without_unpackable(bundles)
            me.poke()  # the trees that failed are told in the next turn
            if not bundles:
                return
            packed = self._packed(bundles)
        _, anchors, ids, lists = zip(*bundles, strict=True)
        self._deliver(anchors, ids, list(map(len, lists)), packed)

    def _packed(self, bundles: Sequence[tuple[Any, ...]]) -> bytes:
        return self._codec.pack(list(chain.from_iterable([bundle[3] for bundle in bundles])))

    def _without_unpackable(self, bundles: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """What can be sent; the input of each tuple that cannot has failed in the task that emitted it."""
        flow, task = self._flow, self._task
        rest = []
        for leg, anchor, id, tuples in bundles:
            kept = []
            for tuple_ in tuples:
                problem = self._codec.problem(tuple_)
                if problem is None:
                    kept.append(tuple_)
                    continue
                task.blamed(problem, self._stream.id, tracked=anchor is not None)
                if anchor is not None:
                    flow.trees.fail(anchor, NackReason("failed", task.component, task.id, problem, self._stream.id))
            self._credit.repay(len(tuples) - len(kept))
            if kept:
                rest.append((leg, anchor, id, kept))
            else:
                flow.done += 1
        return rest


class Exchange:
    """One process's ways to all others. ``functions`` are what the other processes' letters ask for."""

    def __init__(self, post: PostOffice, topology: Topology, assignment: Assignment) -> None:
        self._post = post
        self._streams = topology.streams
        self._worker_of = assignment.worker_of
        self._capacity = {
            name: topology.conf_of(name).executor_receive_buffer_size for name in (*topology.spouts, *topology.bolts)
        }
        self._component_of = {task.task_id: task.component for task in assignment.tasks.values()}
        self._codecs: dict[int, TupleCodec] = {}
        self._credits: dict[TaskId, Credit] = {}
        self._debts: dict[tuple[int, TaskId], Debt] = {}
        self._legs = [Leg(s.id, s.source, anchored=s.anchored) for s in self._streams]
        self._tasks: Mapping[TaskId, Task]

    def join(self, tasks: Mapping[TaskId, Task]) -> None:
        """The tasks that what comes in is for; before anything does."""
        self._tasks = tasks

    # --- out: the executors' threads --------------------------------------------------------------------------------

    def sink(self, task: Task, flow: Flow, stream: Stream, target: TaskId) -> RemoteChannel:
        """The way from a task of this process to one of another."""
        credit = self._credits.get(target)
        if credit is None:
            credit = self._credits[target] = Credit(self._capacity[self._component_of[target]])
        number, worker = self._streams.index(stream), self._worker_of[target]
        deliver = partial(self._post.tell_plainly, worker, "deliver", self._post.me, number, target)
        return RemoteChannel(task, flow, stream, self._codec(number), credit, deliver)

    def put_to_acker(self, acker_id: TaskId) -> Callable[[AckerUpdates | ResetTimeout], None]:
        """What puts a message in the channel of an acker of another process; what it tracks, it hears of there."""
        worker, post = self._worker_of[acker_id], self._post

        def put(message: AckerUpdates | ResetTimeout) -> None:
            if isinstance(message, ResetTimeout):
                post.tell_plainly(worker, "renew", acker_id, message.anchor)
            else:
                tell = post.tell if message.fails else post.tell_plainly
                tell(worker, "update", acker_id, message.oks, message.fails, message.touched)

        return put

    def _codec(self, number: int) -> TupleCodec:
        codec = self._codecs.get(number)
        if codec is None:
            stream = self._streams[number]
            edge = f"{stream.source} >> {stream.target} on stream {stream.id}"
            codec = self._codecs[number] = TupleCodec(stream.cls, edge=edge)
        return codec

    # --- in: the postman --------------------------------------------------------------------------------------------

    @property
    def functions(self) -> Mapping[str, Callable[..., None]]:
        """By the names that letters call them by."""
        return {"deliver": self._take_in, "repay": self._be_repaid, "update": self._update, "renew": self._renew}

    def _take_in(
        self, source: int, number: int, target: TaskId, anchors: Any, ids: Any, sizes: list[int], packed: bytes
    ) -> None:
        debt = self._debts.get((source, target))
        channel = self._tasks[target].channel
        assert channel is not None
        if debt is None:
            repay = partial(self._post.tell_plainly, source, "repay", target)
            debt = self._debts[source, target] = Debt(channel, repay)
        try:
            tuples = iter(self._codec(number).unpack(packed))
        except BaseException as error:
            channel.put(Undelivered(anchors, self._streams[number].id, error))
            debt.forgive(sum(sizes))
            return
        leg = self._legs[number]
        bundles = [
            (leg, anchor, id, list(islice(tuples, size))) for anchor, id, size in zip(anchors, ids, sizes, strict=True)
        ]
        debt.receive(bundles, sum(sizes))

    def _be_repaid(self, target: TaskId, tuples: int) -> None:
        self._credits[target].repay(tuples)

    def _update(self, acker_id: TaskId, oks: Any, fails: Any, touched: Any) -> None:
        channel = self._tasks[acker_id].channel
        assert channel is not None
        channel.put(AckerUpdates([], oks, fails, touched))

    def _renew(self, acker_id: TaskId, anchor: int) -> None:
        channel = self._tasks[acker_id].channel
        assert channel is not None
        channel.put(ResetTimeout(anchor))
