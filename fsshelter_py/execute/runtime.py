"""A topology made of tasks and executors: built, activated, stopped, shut down. Once each.

Thread contract. Any one thread at a time builds, activates, stops and shuts down. ``on_exception``, ``on_end`` and
``on_stop`` are called from the executors' threads; they must return soon and not call back into the runtime.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fsshelter_py.build.assignment import ExecutorPlan, assign
from fsshelter_py.build.describe import describe
from fsshelter_py.channel import Channel, Doorbell, Mailbox, Switchboard
from fsshelter_py.clock import Clock, MonotonicClock
from fsshelter_py.execute.acker_task import AckerTask
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.debug_flow import DebugFlow
from fsshelter_py.execute.executor import Executor
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.loop_executor import LoopExecutor
from fsshelter_py.execute.making import make_bolt, make_spout
from fsshelter_py.execute.manual_task import ManualBolt
from fsshelter_py.execute.spout_task import SpoutTask
from fsshelter_py.execute.stopping import Stopping, Wait
from fsshelter_py.execute.system_task import SystemTask
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.trees import Trees
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.execute.wiring import wire
from fsshelter_py.model.component import Bolt, SpoutKind
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.ids import ACKER, SYSTEM, ComponentId, TaskId
from fsshelter_py.model.message import Pause, Start, Wake
from fsshelter_py.model.order import in_order
from fsshelter_py.model.outcome import DeadLetter
from fsshelter_py.model.printed import printed
from fsshelter_py.model.topology import Topology

__all__ = ["RuntimeTopology", "Wait"]


class RuntimeTopology:
    """The tasks of a topology, by id, and the executors that serve them."""

    def __init__(
        self,
        topology: Topology,
        start_log: Callable[[TaskId], Any],
        on_exception: Callable[[BaseException], None],
        *,
        on_end: Callable[[], None] | None = None,
        on_stop: Callable[[], None] | None = None,
        unresolved: Mapping[ComponentId, Unresolved] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        wait: Wait | None = None,
    ) -> None:
        """on_end: called when the input has ended and nothing is in flight. on_stop: called by a task's ``ctx.stop()``.

        unresolved: by spout, what failed in earlier runs. seed: of the ids, for a run that can be repeated.
        wait: given, there is neither thread nor socket: who gives it has the executors take their turns, and ``stop``
            waits with it, until a moment of ``clock``.
        """
        self.topology = topology
        self.assignment = assign(topology)
        self.clock = clock if clock is not None else MonotonicClock()
        self._tell_of = on_exception
        self._on_end = on_end or _nothing
        self._on_stop = on_stop or _nothing
        self._start_log = start_log
        self._unresolved = unresolved or {}
        self._seed = seed
        self._has_threads = wait is None
        self._now = time.monotonic if wait is None else self.clock.now
        self._changed = threading.Event()
        self._flushing = False
        self._stopping = False
        self._ended = False
        self._starting = len(self.assignment.tasks)
        self._lock = threading.Lock()
        self.running = threading.Event()
        """Set once every task has started."""
        tasks = {task_id: self._make_task(task_id) for task_id in self.assignment.tasks}
        self.tasks: Mapping[TaskId, Task] = tasks
        self.system_task = _only(tasks, SystemTask)
        self.acker_tasks = _of(tasks, AckerTask)
        self.spout_tasks = _of(tasks, SpoutTask)
        self.bolt_tasks = _of(tasks, BoltTask)
        self._switchboard = Switchboard(len(self.assignment.executors)) if self._has_threads else None
        self.executors: list[Executor] = []
        try:
            for plan in self.assignment.executors:
                self.executors.append(self._make_executor(plan))
        except BaseException:
            self._free()
            raise
        self._executor_of = {task.id: executor for executor in self.executors for task in executor.tasks}
        self._stop = Stopping(self._executor_of, self.is_quiet, self._changed, wait, self._now)
        wire(topology, self.assignment, tasks)
        self._connect_ackers()

    @staticmethod
    def of_topology(
        topology: Topology,
        start_log: Callable[[TaskId], Any],
        on_exception: Callable[[BaseException], None],
        **options: Any,
    ) -> RuntimeTopology:
        """The runtime of a topology, not yet active.

        start_log: ``start_log(task_id)`` gives the structlog logger of a task.
        on_exception: called, from any thread, with an error that nothing handles; the runtime should then be stopped.
        """
        return RuntimeTopology(topology, start_log, on_exception, **options)

    # --- building ---------------------------------------------------------------------------------------------------

    def _make_task(self, task_id: TaskId) -> Task:
        plan = self.assignment.tasks[task_id]
        name = plan.component
        of_runtime = name in (SYSTEM, ACKER)
        context = TaskContext(
            topology=self.topology.name,
            component=name,
            task_id=task_id,
            task_index=plan.index,
            task_count=plan.count,
            conf=self.topology.conf if of_runtime else self.topology.conf_of(name),
            log=self._start_log(task_id).bind(component=name, task=task_id),
            _tasks_of=self.assignment.tasks_of,
            _wake=lambda: self._wake(task_id),
            _stop=self._on_stop,
        )
        if name == SYSTEM:
            return SystemTask(context, self.clock)
        if name == ACKER:
            return AckerTask(context, {t.task_id: t.component for t in self.assignment.tasks.values()})
        component = self.topology.component(name)
        if isinstance(component, Bolt):
            return make_bolt(context, component, self.clock)
        unresolved = self._unresolved.get(name)
        if unresolved is None:
            unresolved = Unresolved(replaying=component.kind is SpoutKind.REPLAYING)
        subscribed = any(s.source == name and s.cls is DeadLetter for s in self.topology.streams)
        return make_spout(context, component, self.clock, unresolved, self._notice, dead_letters=subscribed)

    def _make_executor(self, plan: ExecutorPlan) -> Executor:
        tasks = [self.tasks[task_id] for task_id in plan.task_ids]
        endpoints = [f"inproc://task-{task.id}" for task in tasks]
        bell: Doorbell | None = None
        rings: list[Callable[[], None]] = [_nothing for _ in endpoints]
        if self._switchboard is not None:
            bell = self._switchboard.doorbell(endpoints)
            rings = [self._switchboard.connect(endpoint) for endpoint in endpoints]
        mailbox = Mailbox(bell, rings[0])
        for task, endpoint, ring in zip(tasks, endpoints, rings, strict=True):
            size = task.context.conf.executor_receive_buffer_size
            task.channel = Channel(task, mailbox, size, endpoint=endpoint, ring=ring)
        seed = None if self._seed is None else self._seed + plan.task_ids[0]
        flow = (DebugFlow if self._debugs() else Flow)(mailbox, Trees(()), self.clock, seed)
        kind = LoopExecutor if plan.is_async else Executor
        executor = kind(plan.name, mailbox, flow, self.clock, log=self.system_task.log)
        executor.on_exception = self._report
        executor.serve(tasks)
        return executor

    def _debugs(self) -> bool:
        """Whether debug mode is on for any component: what one emits, another receives."""
        return any(self.topology.conf_of(name).debug for name in self.assignment_components())

    def _connect_ackers(self) -> None:
        for acker in self.acker_tasks.values():
            for spout in self.spout_tasks.values():
                assert spout.channel is not None
                if self._executor_of[spout.id] is self._executor_of[acker.id]:
                    flow = self._executor_of[spout.id].flow
                    acker.spouts[spout.id] = lambda message, spout=spout, flow=flow: spout.settle(message, flow)
                else:
                    acker.spouts[spout.id] = spout.channel.put
        puts = [partial(self._put, acker) for acker in self.acker_tasks.values()]
        conf = self.topology.conf
        for executor in self.executors:
            # What is done has made progress all the time.
            expire_here = conf.enable_message_timeouts and conf.timeout_mode == "emit"
            executor.flow.trees = Trees(puts, expire_here=expire_here)

    # --- activating -------------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Start the threads and the tasks: ackers, then bolts from the last to the first, then spouts and the timer."""
        self.system_task.watch(self.executors, self._report, self._look)
        conf = self.topology.conf
        ticked: list[Task] = list(self.acker_tasks.values())
        if conf.enable_message_timeouts:  # without them a manual bolt keeps its deliveries for as long as it likes
            ticked += [bolt for bolt in self.bolt_tasks.values() if isinstance(bolt, ManualBolt)]
        self.system_task.schedule(ticked, list(self.bolt_tasks.values()))
        if not conf.enable_message_timeouts:
            hint = "a tuple that a component neither acks nor fails stays pending for ever"
            self.system_task.log.warning("message_timeouts_disabled", hint=hint)
        self.start_tasks()
        if self._has_threads:
            for executor in self.executors:
                executor.start(f"fsshelter:{self.topology.name}:{executor.name}")

    def start_tasks(self) -> None:
        """Tell every task to start."""
        for task in (
            *self.acker_tasks.values(),
            *(task for component in reversed(self._bolt_order()) for task in self._tasks_of(component)),
            *self.spout_tasks.values(),
            self.system_task,
        ):
            self._put(task, Start(self._started))

    def _started(self) -> None:
        with self._lock:
            self._starting -= 1
            if self._starting == 0:
                self.running.set()

    # --- watching ---------------------------------------------------------------------------------------------------

    def _report(self, error: BaseException) -> None:
        """An error that nothing handles. Whoever is told of it must not bring down the thread that tells."""
        try:
            self._tell_of(error)
        except BaseException:
            self.system_task.log.exception("error_reporter_failed", reported=printed(error))

    def _wake(self, task_id: TaskId) -> None:
        task = self.tasks[task_id]
        if isinstance(task, SpoutTask):
            self._put(task, Wake())

    def _notice(self) -> None:
        """Something may have come to rest: whoever waits for that looks again."""
        self._changed.set()
        channel = self.system_task.channel
        if channel is not None:
            channel.mailbox.poke()

    def _look(self) -> None:
        """By the system task, each turn: has the input ended, and is everything settled?"""
        if self._stopping or self._ended or not self.running.is_set():
            return
        if not all(spout.at_rest for spout in self.spout_tasks.values()):
            if not self._flushing and all(spout.exhausted for spout in self.spout_tasks.values()):
                self._flush_all()
            return
        self._flush_all()
        if self.is_quiet():
            self._ended = True
            self._on_end()

    def _flush_all(self) -> None:
        """No batch waits for more from now on, and every executor tells when it has nothing to do."""
        if self._flushing:
            return
        self._flushing = True
        for executor in self.executors:
            if executor.tasks != [self.system_task]:
                executor.notify = self._notice
            executor.flow.flushing = True
            executor.mailbox.poke()

    def is_quiet(self) -> bool:
        """Whether nothing is in flight, tracked or not.

        Sound because the counters only grow: what is done is read before what was sent, so equal sums mean that at the
        moment between, nothing was on its way. A spout at rest sends nothing, and leaves its rest, to ask again after a
        nack, before its nack handler counts as done; so it must be at rest before and after.
        """
        if not all(spout.at_rest for spout in self.spout_tasks.values()):
            return False
        manual = [bolt for bolt in self.bolt_tasks.values() if isinstance(bolt, ManualBolt)]
        done = sum(e.flow.done for e in self.executors) + sum(bolt.emits_done for bolt in manual)
        sent = sum(e.flow.sent for e in self.executors) + sum(bolt.emits_made for bolt in manual)
        return done == sent and all(spout.at_rest for spout in self.spout_tasks.values())

    # --- stopping ---------------------------------------------------------------------------------------------------

    def stop(self, timeout: float | None = None, *, drain: bool = True) -> bool:
        """Stop asking, let what is in flight finish, deactivate bolts in topological order, then spouts.

        timeout: seconds it may take, ``worker_shutdown_sleep_secs`` by default. drain: False hands everything unsettled
        back at once. What is unsettled in the end is nacked with kind ``stopped``. Returns whether there was nothing.
        """
        self._stopping = True
        limit = self.topology.conf.worker_shutdown_sleep_secs if timeout is None else timeout
        deadline = self._now() + limit
        for spout in self.spout_tasks.values():
            self._put(spout, Pause())
        self._flush_all()
        quiet = self._stop.drain((self._tasks_of(name) for name in self._bolt_order()), deadline, wait=drain)
        left = sum(spout.pending for spout in self.spout_tasks.values())
        self._stop.deactivate(list(self.spout_tasks.values()), deadline)
        return quiet and not left

    def shutdown(self) -> None:
        """End the threads and free the sockets. A thread stuck in user code is left behind, and logged."""
        self._stop.end_threads(self.system_task.log)
        self._free()

    def _free(self) -> None:
        for executor in self.executors:
            if executor.thread is None:
                executor.close()
        if self._switchboard is not None:
            self._switchboard.term()

    # --- telling ----------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """The topology, its tasks and where they run, as text."""
        return describe(self.topology)

    @property
    def watchman_death(self) -> Exception | None:
        """What to report where the system task's thread, which watches all the others, has died itself."""
        executor = self._executor_of[self.system_task.id]
        return executor.death if executor.has_died else None

    def _bolt_order(self) -> list[ComponentId]:
        edges = [(s.source, s.target) for s in self.topology.streams]
        return [c for c in in_order(self.assignment_components(), edges) if c in self.topology.bolts]

    def assignment_components(self) -> tuple[ComponentId, ...]:
        """Spouts and bolts, in the order declared."""
        return (*self.topology.spouts, *self.topology.bolts)

    def _tasks_of(self, component: ComponentId) -> list[Task]:
        return [self.tasks[task_id] for task_id in self.assignment.tasks_of(component)]

    @staticmethod
    def _put(task: Task, message: Any) -> None:
        assert task.channel is not None
        task.channel.put(message)


def _of(tasks: Mapping[TaskId, Task], kind: type[Any]) -> dict[TaskId, Any]:
    return {task_id: task for task_id, task in tasks.items() if isinstance(task, kind)}


def _only(tasks: Mapping[TaskId, Task], kind: type[Any]) -> Any:
    (task,) = _of(tasks, kind).values()
    return task


def _nothing() -> None:
    """The default of the callbacks."""
