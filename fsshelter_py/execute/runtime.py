"""A topology at work, in one process or several: built, activated, stopped, shut down. Once each.

What is here coordinates parts, the one of this process and those of the others, where there are any: when is the input
at its end, and in which order are components deactivated. The parts do the work.

Thread contract. Any one thread at a time builds, activates, stops and shuts down. ``on_exception``, ``on_end`` and
``on_stop`` are called from the executors' threads; they must return soon and not call back into the runtime.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from fsshelter_py.build.assignment import assign
from fsshelter_py.build.describe import describe
from fsshelter_py.clock import Clock, MonotonicClock
from fsshelter_py.execute.counts import TaskCounts
from fsshelter_py.execute.fleet import Fleet
from fsshelter_py.execute.forwarding import level_of, log_forwarded
from fsshelter_py.execute.hooks import Hooks
from fsshelter_py.execute.part import LocalPart, bolt_order
from fsshelter_py.execute.reading import Census, Reading
from fsshelter_py.execute.stopping import Part, Stopping, Wait
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.ids import ComponentId, TaskId
from fsshelter_py.model.topology import Topology

__all__ = ["RuntimeTopology", "Wait"]

_MAIN = 0


class RuntimeTopology:
    """The tasks of a topology, by id, and the executors that serve them: those of this process, and a fleet of others.

    ``tasks``, ``system_task``, ``acker_tasks``, ``spout_tasks``, ``bolt_tasks`` and ``executors`` are this process's.
    """

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
        wait: given, there is neither thread nor socket nor other process: who gives it has the executors take their
            turns, and ``stop`` waits with it, until a moment of ``clock``.
        Raises ``TopologyError`` for components that cannot be sent to other processes, and ``WorkerDiedError``.
        """
        self.topology = topology
        self.assignment = assign(topology, workers=None if wait is None else 1)
        self.clock = clock if clock is not None else MonotonicClock()
        self._on_end = on_end or _nothing
        self._now = time.monotonic if wait is None else self.clock.now
        self._changed = threading.Event()
        self._flushing = False
        self._stopping = False
        self._ended = False
        self._starting = len(self.assignment.tasks)
        self._lock = threading.Lock()
        self._census = Census(range(self.assignment.workers))
        """Guarded by the lock, as ``_starting`` is."""
        self.running = threading.Event()
        """Set once every task has started."""
        hooks = Hooks(
            start_log=start_log,
            on_exception=on_exception,
            on_change=self._notice,
            on_started=self._started,
            on_deactivated=lambda task_id: self._stop.deactivated(task_id),
            on_stop=on_stop or _nothing,
            on_turn=self._look,
            unresolved=unresolved or {},
        )
        self._fleet = Fleet(topology, self.assignment, self.report) if self.assignment.workers > 1 else None
        with ExitStack() as undo:
            exchange = None
            if self._fleet is not None:
                exchange = self._fleet.exchange
                undo.callback(self._fleet.close)
                self._fleet.launch(hooks.unresolved, level_of(start_log(0).bind()))
            self._part = LocalPart(
                topology, self.assignment, hooks, self.clock, exchange=exchange, seed=seed, has_threads=wait is None
            )
            undo.callback(self._part.shutdown)
            if self._fleet is not None:
                self._fleet.begin(self._part, self._functions(hooks))
            undo.pop_all()
        parts: dict[int, Part] = {_MAIN: self._part, **(self._fleet.parts if self._fleet is not None else {})}
        self._stop = Stopping(
            parts,
            self.assignment.worker_of,
            is_quiet=self.is_quiet,
            forget=self._forget,
            has_failed=self._has_failed,
            changed=self._changed,
            wait=wait,
            now=self._now,
        )
        self.tasks = self._part.tasks
        self.executors = self._part.executors
        self.system_task = self._part.system_task
        self.acker_tasks = self._part.acker_tasks
        self.spout_tasks = self._part.spout_tasks
        self.bolt_tasks = self._part.bolt_tasks

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

    def _functions(self, hooks: Hooks) -> Mapping[str, Callable[..., None]]:
        """What the letters of other processes may ask for here."""
        return {
            "started": self._started,
            "changed": self._fleet_changed,
            "answer": self._answered,
            "deactivated": hooks.on_deactivated,
            "error": self.report,
            "stop": hooks.on_stop,
            "log": lambda task_id, method, event: log_forwarded(hooks.start_log(task_id), method, event),
        }

    # --- activating -------------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Start the threads and the tasks; see ``LocalPart.activate`` for the order.

        Across processes there is none: what comes to a task that has not started waits in its channel.
        """
        if self._fleet is not None:
            self._fleet.tell_all("activate")
        if not self.topology.conf.enable_message_timeouts:
            hint = "a tuple that a component neither acks nor fails stays pending for ever"
            self.system_task.log.warning("message_timeouts_disabled", hint=hint)
        self._part.activate()

    def _started(self) -> None:
        with self._lock:
            self._starting -= 1
            if self._starting == 0:
                self.running.set()

    # --- watching ---------------------------------------------------------------------------------------------------

    def report(self, error: BaseException) -> None:
        """Bring it down for an error that nothing handles. Any thread."""
        self._part.report(error)

    def _notice(self) -> None:
        """Something may have come to rest: whoever waits for that looks again."""
        self._changed.set()
        self._part.look_again()

    def _fleet_changed(self, worker: int, reading: Reading) -> None:
        assert self._fleet is not None
        self._fleet.readings[worker] = reading
        self._notice()

    def _look(self) -> None:
        """By the system task, each turn: are all processes alive, has the input ended, and is everything settled?"""
        readings = [self._part.reading()]
        if self._fleet is not None:
            for death in self._fleet.deaths():
                self.report(death)
            readings += self._fleet.readings.values()
        if self._stopping or self._ended or not self.running.is_set():
            return
        if not all(reading.at_rest for reading in readings):
            if all(reading.exhausted for reading in readings):
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
        self._part.flush()
        if self._fleet is not None:
            self._fleet.tell_all("flush")

    def is_quiet(self) -> bool:
        """Whether nothing is in flight, tracked or not.

        Where there are other processes, that is whether nothing was when they last answered; then they are asked anew.
        """
        if self._fleet is None:
            return self._part.reading().is_quiet
        with self._lock:
            if not self._census.is_complete:
                return False
            quiet = self._census.is_quiet
            round = self._census.begin()
            self._census.answer(round, _MAIN, self._part.reading())
        self._fleet.tell_all("read", round)
        return quiet

    def _forget(self) -> None:
        with self._lock:
            self._census.forget()

    def _answered(self, round: int, worker: int, reading: Reading) -> None:
        assert self._fleet is not None
        self._fleet.readings[worker] = reading
        with self._lock:
            promising = self._census.answer(round, worker, reading)
        if promising:
            self._notice()

    # --- stopping ---------------------------------------------------------------------------------------------------

    def stop(self, timeout: float | None = None, *, drain: bool = True) -> bool:
        """Stop asking, let what is in flight finish, deactivate bolts in topological order, then spouts.

        timeout: seconds it may take, ``worker_shutdown_sleep_secs`` by default. drain: False hands everything unsettled
        back at once. What is unsettled in the end is nacked with kind ``stopped``. Returns whether there was nothing.
        """
        self._stopping = True
        limit = self.topology.conf.worker_shutdown_sleep_secs if timeout is None else timeout
        deadline = self._now() + limit
        self._part.pause()
        if self._fleet is not None:
            self._fleet.tell_all("pause")
        self._flush_all()
        bolts = (self.assignment.tasks_of(name) for name in bolt_order(self.topology))
        quiet = self._stop.drain(bolts, deadline, wait=drain)
        self._stop.deactivate([i for name in self.topology.spouts for i in self.assignment.tasks_of(name)], deadline)
        return quiet

    def _has_failed(self) -> bool:
        if self._part.reading().failed:
            return True
        fleet = self._fleet
        return fleet is not None and (
            any(reading.failed for reading in fleet.readings.values())
            or any(fleet.has_died(worker) for worker in fleet.workers)
        )

    def shutdown(self) -> None:
        """End the threads and the processes, and free the sockets.

        A thread stuck in user code is left behind, and logged; a process of such threads is killed.
        """
        if self._fleet is not None:
            self._fleet.halt()
        self._part.shutdown()
        if self._fleet is not None:
            self._fleet.wait_halted()
            self._fleet.close()

    # --- telling ----------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """The topology, its tasks and where they run, as text."""
        return describe(self.topology)

    def counts(self) -> list[TaskCounts]:
        """What the tasks count, over all processes; those of others as they last told, not long ago."""
        return self._part.counts() + (self._fleet.counts() if self._fleet is not None else [])

    @property
    def watchman_death(self) -> Exception | None:
        """What to report where the system task's thread, which watches all the others, has died itself."""
        return self._part.watchman_death


def _nothing() -> None:
    """The default of the callbacks."""
