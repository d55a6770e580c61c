"""A hosted topology, and the supervisor that keeps it running.

Thread contract. One supervisor thread builds, watches, stops and restarts runtimes; nobody else touches them, but for
reading counters. The callbacks it gives a runtime, and ``stop`` and ``ctx.stop()``, only set fields under the condition
and notify it; any thread may call them. ``wait`` and ``stats`` may be called from any thread.

A process forked from one that hosts a topology has none of its threads, and perhaps a lock that is never released:
there the object is dead, says so, and does nothing on exit.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

import tenacity

from fsshelter_py.build.describe import describe
from fsshelter_py.clock import Clock, MonotonicClock
from fsshelter_py.errors import (
    FsShelterError,
    SourceError,
    TopologyError,
    TopologyFailedError,
    WorkerDiedError,
)
from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.execute.guarded_log import GuardedLog
from fsshelter_py.host.advice import Advisor
from fsshelter_py.host.default_log import default_log
from fsshelter_py.host.ledger import Ledger
from fsshelter_py.host.restart_policy import RestartPolicy
from fsshelter_py.host.usage import Usage
from fsshelter_py.model.ids import SYSTEM, TaskId
from fsshelter_py.model.stats import HostState, Stats, Summary
from fsshelter_py.model.topology import Topology

__all__ = ["Hosted", "run", "run_no_restart", "run_with"]

_WATCH_SECS = 0.25
_ADVISE_SECS = 1.0
_CRASH_STOP_SECS = 5.0

_FEWER_WORKERS = "only components of parallelism 2 or more have tasks for other processes, and spouts that are spread"


class _CrashedError(Exception):
    """One run failed, after so many healthy seconds and acks; by nothing else than the death of worker processes?"""

    def __init__(self, ran_secs: float, acked: int, *, by_death: bool) -> None:
        super().__init__(ran_secs)
        self.ran_secs = ran_secs
        self.acked = acked
        self.by_death = by_death


class Hosted:
    """A topology being run; a context manager that stops it on exit.

    Made by ``run``, ``run_with`` and ``run_no_restart``.
    """

    def __init__(
        self,
        topology: Topology,
        start_log: Callable[[TaskId], Any],
        *,
        restart: bool = True,
        clock: Clock | None = None,
    ) -> None:
        conf = _checked(topology).conf
        self.topology = topology
        self._start_log = start_log
        self._clock = clock if clock is not None else MonotonicClock()
        self._policy = RestartPolicy(
            conf.max_restarts if restart else 0, conf.restart_max_backoff_secs, conf.restart_reset_secs
        )
        self._ledger = Ledger(topology)
        self._began = self._clock.now()
        self._process = os.getpid()
        self._condition = threading.Condition()
        self._state: HostState = "starting"
        self._last_error: BaseException | None = None
        self._errors: list[BaseException] = []
        self._ended = False
        self._stop_timeout: float | None = None
        self._stop_asked = threading.Event()
        self._restarts = 0
        self._failed = False
        self._runtime: RuntimeTopology | None = None
        self._summary: Summary | None = None
        self._log = GuardedLog(start_log(0).bind(component=SYSTEM, topology=topology.name))
        self._thread = threading.Thread(target=self._supervise, name=f"fsshelter:{topology.name}", daemon=True)
        self._thread.start()

    # --- what users call --------------------------------------------------------------------------------------------

    @property
    def state(self) -> HostState:
        """starting, running, restarting, draining, stopped or failed."""
        return self._state

    @property
    def last_error(self) -> BaseException | None:
        """The last unhandled error; None if there was none."""
        return self._last_error

    def wait(self, timeout: float | None = None) -> Summary:
        """Wait for the end: the input has ended and every tuple is settled, or the topology was stopped.

        Raises ``TimeoutError`` after ``timeout`` seconds, and ``TopologyFailedError``, from the original exception,
        when restarts are exhausted.
        """
        self._check_process()
        with self._condition:
            if not self._condition.wait_for(lambda: self._state in ("stopped", "failed"), timeout):
                raise TimeoutError(f"{self.topology.name} is still {self._state} after {timeout} s")
            if self._failed:
                raise self._failure() from (self._errors[0] if self._errors else self._last_error)
            assert self._summary is not None
            return self._summary

    def stop(self, timeout: float | None = None) -> Summary:
        """Drain and end: stop asking the spouts, let what is in flight finish, for ``timeout`` seconds at most.

        timeout: ``worker_shutdown_sleep_secs`` by default. What is unsettled then is nacked with kind ``stopped``.
        Raises ``TopologyFailedError`` like ``wait``.
        """
        self._check_process()
        self._ask_stop(timeout)
        return self.wait()

    def stats(self) -> Stats:
        """What it has done so far."""
        self._check_process()
        with self._condition:
            if self._summary is not None:
                return self._summary
            components = self._ledger.components(self._runtime)
            return Stats(self.topology.name, self._state, self._clock.now() - self._began, self._restarts, components)

    def describe(self) -> str:
        """The topology, its tasks and where they run, as text."""
        return describe(self.topology)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process != os.getpid():
            return
        self._ask_stop(None)
        with self._condition:
            self._condition.wait_for(lambda: self._state in ("stopped", "failed"))

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise FsShelterError(
                f"{self.topology.name} runs in process {self._process}, not in this one forked from it"
            )

    # --- what others report: any thread -----------------------------------------------------------------------------

    def _ask_stop(self, timeout: float | None = None) -> None:
        with self._condition:
            if not self._stop_asked.is_set():
                self._stop_timeout = timeout
                self._stop_asked.set()
                self._condition.notify_all()

    def _report(self, error: BaseException) -> None:
        with self._condition:
            self._errors.append(error)
            self._last_error = error
            self._condition.notify_all()

    def _report_end(self) -> None:
        with self._condition:
            self._ended = True
            self._condition.notify_all()

    # --- the supervisor's thread ------------------------------------------------------------------------------------

    def _supervise(self) -> None:
        policy = self._policy
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_CrashedError),
            after=lambda state: _count(policy, state),
            wait=lambda state: policy.wait_secs,
            stop=lambda state: policy.is_exhausted or self._stop_asked.is_set() or self._is_hopeless(),
            before_sleep=self._before_restart,
            sleep=tenacity.sleep_using_event(self._stop_asked),
        )
        try:
            attempts(self._run_once)
        except tenacity.RetryError:  # whoever asked it to stop while it failed gets a stop
            self._failed = policy.is_exhausted or self._is_hopeless()
        except BaseException as error:  # of the supervisor itself: never half alive
            self._report(error)
            self._failed = True
            if self._runtime is not None:
                self._end(self._runtime, crashed=True)
        finally:
            self._finish()

    def _finish(self) -> None:
        self._log.info("failed" if self._failed else "stopped", restarts=self._restarts)
        with self._condition:
            self._runtime = None
            self._state = "failed" if self._failed else "stopped"
            self._summary = Summary(
                self.topology.name,
                self._state,
                self._clock.now() - self._began,
                self._restarts,
                self._ledger.components(None),
                nacks=self._ledger.nacks,
                first_failures=tuple(self._ledger.reasons),
            )
            self._condition.notify_all()

    def _run_once(self) -> None:
        """Run the topology until it ends, is stopped, or fails; then raises ``_CrashedError``."""
        if self._stop_asked.is_set():
            return
        with self._condition:
            if self._errors:
                self._restarts += 1
                self._ledger.restarted()
                self._errors.clear()
            self._ended = False
        began = self._clock.now()
        runtime: RuntimeTopology | None = None
        try:
            runtime = RuntimeTopology(
                self.topology,
                self._start_log,
                self._report,
                on_end=self._report_end,
                on_stop=self._ask_stop,
                unresolved=self._ledger.unresolved,
                clock=self._clock,
            )
            with self._condition:
                self._runtime = runtime
            used, asked = runtime.assignment.workers, self.topology.conf.workers
            if used < asked and not self._restarts:
                self._log.warning("fewer_workers", asked=asked, used=used, hint=_FEWER_WORKERS)
            runtime.activate()
        except Exception as error:
            self._report(error)
            if runtime is None:  # else ``_end`` logs it
                self._log.error("topology_failed", exc_info=error)
        if runtime is not None:
            self._watch(runtime)
        crashed = bool(self._errors)
        ran = self._clock.now() - began
        if runtime is not None:
            self._end(runtime, crashed=crashed)
            if not crashed:
                for late in list(self._errors):
                    self._log.error("failed_while_stopping", exc_info=late)
        if crashed:
            acked = sum(task.acked for task in runtime.counts()) if runtime is not None else 0
            by_death = all(isinstance(error, WorkerDiedError) for error in self._errors)
            raise _CrashedError(ran, acked, by_death=by_death)

    def _watch(self, runtime: RuntimeTopology) -> None:
        """Wait until there is a reason to end this run."""
        has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
        usage, advisor, advised = Usage(runtime), Advisor(has_lock=has_lock), self._clock.now()
        with self._condition:
            while not (self._errors or self._ended or self._stop_asked.is_set()):
                if self._clock.now() - advised >= _ADVISE_SECS:
                    advised = self._clock.now()
                    for advice in advisor.observe(*usage.sample()):
                        self._log.warning(advice.event, subject=advice.subject, hint=advice.hint)
                if self._state != "running" and runtime.running.is_set():
                    self._state = "running"
                    self._condition.notify_all()
                    placed = runtime.assignment
                    self._log.info("running", executors=len(placed.executors), tasks=len(placed.tasks))
                if (death := runtime.watchman_death) is not None:
                    self._errors.append(death)
                    self._last_error = death
                self._condition.wait(_WATCH_SECS if runtime.running.is_set() else 0.01)

    def _end(self, runtime: RuntimeTopology, *, crashed: bool) -> None:
        if crashed:
            for error in list(self._errors):
                self._log.error("topology_failed", exc_info=error)
        self._set_state("restarting" if crashed else "draining")
        timeout = _CRASH_STOP_SECS if crashed else self._stop_timeout
        runtime.stop(timeout, drain=not crashed)
        runtime.shutdown()
        with self._condition:
            self._ledger.close(runtime)
            self._runtime = None

    def _is_hopeless(self) -> bool:
        """A source that cannot be read is not mended by a restart, nor is a topology that cannot be built."""
        return any(isinstance(error, (SourceError, TopologyError)) for error in self._errors)

    def _before_restart(self, state: tenacity.RetryCallState) -> None:
        self._set_state("restarting")
        self._log.warning("restarting", attempt=self._policy.attempts, in_secs=self._policy.wait_secs)

    def _set_state(self, state: HostState) -> None:
        with self._condition:
            self._state = state
            self._condition.notify_all()

    def _failure(self) -> TopologyFailedError:
        tries = f" after {self._restarts} restarts" if self._restarts else ""
        return TopologyFailedError(f"{self.topology.name} failed{tries}: {self._last_error}", tuple(self._errors))


def _count(policy: RestartPolicy, state: tenacity.RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, _CrashedError) and error.by_death:
        policy.worker_died(acked=error.acked, ran_secs=error.ran_secs)
    else:
        policy.failed(error.ran_secs if isinstance(error, _CrashedError) else 0.0)


def run(topology: Topology) -> Hosted:
    """Run a topology in the background, restarting it when it fails."""
    return Hosted(topology, _log_of(topology))


def run_with(start_log: Callable[[TaskId], Any], topology: Topology) -> Hosted:
    """Like ``run``, with ``start_log(task_id)`` giving the structlog logger of each task."""
    return Hosted(topology, start_log)


def run_no_restart(topology: Topology) -> Hosted:
    """Like ``run``, but the first unhandled error ends it."""
    return Hosted(topology, _log_of(topology), restart=False)


def _log_of(topology: Topology) -> Callable[[TaskId], Any]:
    """Debug mode logs every tuple, as info."""
    return partial(default_log, level="info") if _checked(topology).conf.debug else default_log


def _checked(topology: Topology) -> Topology:
    if not isinstance(topology, Topology):
        raise TypeError(f"expected a Topology, got {topology!r}: call the topology function, as in run(word_count())")
    return topology
