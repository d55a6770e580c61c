"""The part of a topology that is in this process: its tasks, joined, and the executors that serve them.

Thread contract. Built, activated and shut down by one thread. The hooks are called from the executors' threads; they
must return soon. Everything else may be called from any thread: it puts messages and reads counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from fsshelter_py.build.assignment import Assignment, ExecutorPlan
from fsshelter_py.channel import Channel, Doorbell, Mailbox, Switchboard
from fsshelter_py.clock import Clock
from fsshelter_py.execute.acker_task import AckerTask
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.counts import TaskCounts, counts_of
from fsshelter_py.execute.debug_flow import DebugFlow
from fsshelter_py.execute.exchange import Exchange
from fsshelter_py.execute.executor import Executor
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.hooks import Hooks
from fsshelter_py.execute.leg import Sink
from fsshelter_py.execute.loop_executor import LoopExecutor
from fsshelter_py.execute.making import make_task
from fsshelter_py.execute.manual_task import ManualBolt
from fsshelter_py.execute.reading import Reading
from fsshelter_py.execute.retirement import Retirement
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.system_task import SystemTask
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.trees import Trees
from fsshelter_py.execute.wiring import wire
from fsshelter_py.model.ids import ACKER, ComponentId, TaskId
from fsshelter_py.model.message import Pause, Start, Wake
from fsshelter_py.model.order import in_order
from fsshelter_py.model.printed import printed
from fsshelter_py.model.topology import Stream, Topology

__all__ = ["LocalPart", "bolt_order"]


class LocalPart:
    """The tasks of one worker process, by id."""

    def __init__(
        self,
        topology: Topology,
        assignment: Assignment,
        hooks: Hooks,
        clock: Clock,
        *,
        worker: int = 0,
        exchange: Exchange | None = None,
        seed: int | None = None,
        has_threads: bool = True,
    ) -> None:
        """exchange: leads to the other processes, where there are any."""
        self.topology = topology
        self.assignment = assignment
        self.hooks = hooks
        self.clock = clock
        self._exchange = exchange
        self._seed = seed
        self._has_threads = has_threads
        self._flushing = False
        plans = [plan for plan in assignment.executors if plan.worker == worker]
        here = sorted(task_id for plan in plans for task_id in plan.task_ids)
        self.tasks: Mapping[TaskId, Task] = {task_id: self._make_task(task_id) for task_id in here}
        (self.system_task,) = _of(self.tasks, SystemTask).values()
        self.acker_tasks: dict[TaskId, AckerTask] = _of(self.tasks, AckerTask)
        self.spout_tasks: dict[TaskId, SpoutTask] = _of(self.tasks, SpoutTask)
        self.bolt_tasks: dict[TaskId, BoltTask] = _of(self.tasks, BoltTask)
        self._manual = [bolt for bolt in self.bolt_tasks.values() if isinstance(bolt, ManualBolt)]
        self._switchboard = Switchboard(len(plans), has_letters=exchange is not None) if has_threads else None
        self.executors: list[Executor] = []
        try:
            for plan in plans:
                self.executors.append(self._make_executor(plan))
        except BaseException:
            self._free()
            raise
        self.executor_of = {task.id: executor for executor in self.executors for task in executor.tasks}
        self._retirement = Retirement(self.tasks, self.executor_of, has_threads=has_threads)
        wire(topology, assignment, self.tasks, self._sink_abroad)
        self._connect_ackers()

    # --- building ---------------------------------------------------------------------------------------------------

    def _make_task(self, task_id: TaskId) -> Task:
        return make_task(
            self.topology, self.assignment, task_id, self.hooks, self.clock, wake=partial(self._wake, task_id)
        )

    def _make_executor(self, plan: ExecutorPlan) -> Executor:
        tasks = [self.tasks[task_id] for task_id in plan.task_ids]
        endpoints = [f"inproc://task-{task.id}" for task in tasks]
        bell: Doorbell | None = None
        rings: list[Callable[[], None]] = [_nothing for _ in endpoints]
        first, exchange = tasks[0].id, self._exchange
        address = exchange.endpoint(first) if exchange is not None else None
        if self._switchboard is not None:
            bell = self._switchboard.doorbell(endpoints, address)
            rings = [self._switchboard.connect(endpoint) for endpoint in endpoints]
        mailbox = Mailbox(bell, rings[0])
        for task, endpoint, ring in zip(tasks, endpoints, rings, strict=True):
            size = task.context.conf.executor_receive_buffer_size
            task.channel = Channel(task, mailbox, size, endpoint=endpoint, ring=ring)
        seed = None if self._seed is None else self._seed + plan.task_ids[0]
        flow = (DebugFlow if self._debugs() else Flow)(mailbox, Trees(()), self.clock, seed)
        kind = LoopExecutor if plan.is_async else Executor
        executor = kind(plan.name, mailbox, flow, self.clock, log=self.system_task.log)
        executor.on_exception = self.report
        executor.serve(tasks)
        if exchange is not None:
            flow.courier = exchange.courier(first)
            executor.read = exchange.read if address is not None else None
        return executor

    def _debugs(self) -> bool:
        """Whether debug mode is on for any component: what one emits, another receives."""
        return any(self.topology.conf_of(name).debug for name in (*self.topology.spouts, *self.topology.bolts))

    def _sink_abroad(self, task: Task, stream: Stream, target: TaskId) -> Sink:
        assert self._exchange is not None
        return self._exchange.sink(task, self.executor_of[task.id].flow, stream, target)

    def _connect_ackers(self) -> None:
        """Each tree's acker is in the process of its spout: only what other processes do in the tree travels."""
        for acker in self.acker_tasks.values():
            for spout in self.spout_tasks.values():
                assert spout.channel is not None
                if self.executor_of[spout.id] is self.executor_of[acker.id]:
                    flow = self.executor_of[spout.id].flow
                    acker.spouts[spout.id] = partial(spout.settle, flow=flow)
                else:
                    acker.spouts[spout.id] = spout.channel.put
        ackers = [t.task_id for t in self.assignment.tasks.values() if t.component == ACKER]
        own = [index for index, acker_id in enumerate(ackers) if acker_id in self.acker_tasks]
        conf = self.topology.conf
        for executor in self.executors:
            # What is done has made progress all the time.
            expire_here = conf.enable_message_timeouts and conf.timeout_mode == "emit"
            puts = [self._put_to_acker(acker_id, executor.flow) for acker_id in ackers]
            executor.flow.trees = Trees(puts, expire_here=expire_here)
            if len(own) < len(ackers) and own:
                executor.flow.new_anchor = _anchors(executor.flow.new_id(), len(ackers), own).__next__

    def _put_to_acker(self, acker_id: TaskId, flow: Flow) -> Callable[[Any], None]:
        acker = self.acker_tasks.get(acker_id)
        if acker is not None:
            return partial(_put, acker)
        assert self._exchange is not None
        return self._exchange.put_to_acker(acker_id, flow)

    # --- what a coordinator asks of it ------------------------------------------------------------------------------

    def activate(self) -> None:
        """Start the threads and the tasks: ackers, then bolts from the last to the first, then spouts and the timer."""
        self.system_task.watch(self.executors, self.report, self.hooks.on_turn)
        # Without timeouts a manual bolt keeps its deliveries for as long as it likes.
        manual = self._manual if self.topology.conf.enable_message_timeouts else []
        self.system_task.schedule([*self.acker_tasks.values(), *manual], list(self.bolt_tasks.values()))
        for task in (
            *self.acker_tasks.values(),
            *(task for name in reversed(bolt_order(self.topology)) for task in self.tasks_of(name)),
            *self.spout_tasks.values(),
            self.system_task,
        ):
            _put(task, Start(self.hooks.on_started))
        if self._has_threads:
            for executor in self.executors:
                executor.start(f"fsshelter:{self.topology.name}:{executor.name}")

    def look_again(self) -> None:
        """Have the system task take a turn."""
        if self.system_task.channel is not None:
            self.system_task.channel.mailbox.poke()

    def pause(self) -> None:
        """Ask the spouts for nothing more."""
        for spout in self.spout_tasks.values():
            _put(spout, Pause())

    def flush(self) -> None:
        """No batch waits for more from now on, and every executor tells when it has nothing to do."""
        if self._flushing:
            return
        self._flushing = True
        for executor in self.executors:
            if executor.tasks != [self.system_task]:
                executor.notify = self.hooks.on_change
            executor.flow.flushing = True
            executor.mailbox.poke()

    def reading(self) -> Reading:
        """Whether it is at rest, and how much it has sent and done."""
        at_rest = all(spout.at_rest for spout in self.spout_tasks.values())
        done = sum(e.flow.done for e in self.executors) + sum(bolt.emits_done for bolt in self._manual)
        sent = sum(e.flow.sent for e in self.executors) + sum(bolt.emits_made for bolt in self._manual)
        return Reading(
            at_rest=at_rest and all(spout.at_rest for spout in self.spout_tasks.values()),
            exhausted=all(spout.exhausted for spout in self.spout_tasks.values()),
            done=done,
            sent=sent,
            failed=any(e.failed or e.has_died for e in self.executors),
        )

    def deactivate(self, task_ids: Sequence[TaskId]) -> None:
        """Deactivate tasks, each after what its channel holds; the hooks tell of each."""
        self._retirement.deactivate(task_ids, self.hooks.on_deactivated)

    def is_gone(self, task_id: TaskId) -> bool:
        """Whether nothing is to be hoped of the task's executor."""
        return self._retirement.is_gone(task_id)

    def abandon(self, task_ids: Sequence[TaskId]) -> None:
        """Give up tasks that do not answer, and nack what the spouts among them have unsettled."""
        self._retirement.abandon(task_ids)

    def counts(self) -> list[TaskCounts]:
        """What the spout and bolt tasks count now."""
        return [counts_of(task) for task in (*self.spout_tasks.values(), *self.bolt_tasks.values())]

    @property
    def watchman_death(self) -> Exception | None:
        """What to report where the system task's thread, which watches all the others, has died itself."""
        executor = self.executor_of[self.system_task.id]
        return executor.death if executor.has_died else None

    def shutdown(self) -> None:
        """End the threads and free the sockets. A thread stuck in user code is left behind, and logged."""
        self._retirement.end_threads(self.system_task.log)
        self._free()

    # --- for itself -------------------------------------------------------------------------------------------------

    def tasks_of(self, component: ComponentId) -> list[Task]:
        """A component's tasks in this process."""
        return [task for task in self.tasks.values() if task.component == component]

    def _free(self) -> None:
        for executor in self.executors:
            if executor.thread is None:
                executor.close()
        if self._switchboard is not None:
            self._switchboard.term()

    def report(self, error: BaseException) -> None:
        """An error that nothing handles. Whoever is told of it must not bring down the thread that tells."""
        try:
            self.hooks.on_exception(error)
        except BaseException:
            self.system_task.log.exception("error_reporter_failed", reported=printed(error))

    def _wake(self, task_id: TaskId) -> None:
        task = self.tasks[task_id]
        if isinstance(task, SpoutTask):
            _put(task, Wake())


def bolt_order(topology: Topology) -> list[ComponentId]:
    """The bolts, each after all that it receives from."""
    edges = [(s.source, s.target) for s in topology.streams]
    return [c for c in in_order((*topology.spouts, *topology.bolts), edges) if c in topology.bolts]


def _anchors(start: int, ackers: int, own: Sequence[int]) -> Iterator[int]:
    """Anchors whose acker, which is their rest by the number of all, is one of this process, from a random start on.

    Unlike the ids of deliveries, they only have to differ.
    """
    for base in count(start - start % ackers + ackers, ackers):
        for acker in own:
            yield base + acker


def _of(tasks: Mapping[TaskId, Task], kind: type[Any]) -> dict[TaskId, Any]:
    return {task_id: task for task_id, task in tasks.items() if isinstance(task, kind)}


def _put(task: Task, message: Any) -> None:
    assert task.channel is not None
    task.channel.put(message)


def _nothing() -> None:
    """A ring that wakes nobody."""
