"""A topology run step by step, in one thread and in an order that can be repeated."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from fsshelter_py.execute import RuntimeTopology
from fsshelter_py.host.default_log import default_log
from fsshelter_py.host.ledger import Ledger
from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.stats import HostState, Summary
from fsshelter_py.model.topology import Topology
from fsshelter_py.testing.manual_clock import ManualClock
from fsshelter_py.testing.stepper import Stepper

__all__ = ["TopologyHarness"]

_LEAST_SECS = 0.001


class TopologyHarness:
    """The real tasks of a topology, without threads: nothing happens but what a test asks for.

    The seed decides the ids and, in each step, the order in which executors take their turns; with the same seed the
    same happens again, with another the same in another order. Time is ``clock``, which stands still but in
    ``advance``, ``run_to_end`` and ``stop``; ``asyncio.sleep`` in async components follows it too. Nothing is
    restarted: an unhandled error is raised by the step that met it.

    Thread contract: one thread uses it, on which no event loop is running. A context manager that frees everything.

    >>> with TopologyHarness(word_count()) as harness:
    ...     summary = harness.run_to_end()
    >>> summary.ok
    True
    """

    def __init__(self, topology: Topology, seed: int = 0, *, start_log: Callable[[TaskId], Any] = default_log) -> None:
        """start_log: ``start_log(task_id)`` gives the structlog logger of a task."""
        self.topology = topology
        self.clock = ManualClock()
        self._rng = random.Random(seed)
        self._ledger = Ledger(topology)
        self._state: HostState = "starting"
        self._ended = self._stop_asked = self._stopped = False
        self._errors: list[BaseException] = []
        self._raised = False
        self.runtime = RuntimeTopology(
            topology,
            start_log,
            self._errors.append,
            on_end=self._on_end,
            on_stop=self._on_stop,
            unresolved=self._ledger.unresolved,
            clock=self.clock,
            seed=seed,
            wait=self._wait,
        )
        """The runtime being stepped; its tasks and executors may be looked at."""
        self._steppers = [Stepper(executor, self.clock) for executor in self.runtime.executors]
        self.runtime.activate()

    def _on_end(self) -> None:
        self._ended = True

    def _on_stop(self) -> None:
        self._stop_asked = True

    # --- going on ---------------------------------------------------------------------------------------------------

    @property
    def is_ended(self) -> bool:
        """Whether the input has ended and nothing is in flight any more."""
        return self._ended

    def step(self) -> bool:
        """One turn of every executor; whether anything was done, or is to be done at once.

        Raises the first error that nothing handles, once.
        """
        worked = False
        for stepper in self._rng.sample(self._steppers, len(self._steppers)):
            worked = stepper.step() or worked
        for stepper in self._steppers:  # every one of them, since each uses up its poke
            worked = not stepper.is_idle() or worked
        if self._state == "starting" and self.runtime.running.is_set():
            self._state = "running"
        if self._errors and not self._raised:
            self._raised = True
            self._state = "failed"
            raise self._errors[0]
        return worked

    def run_until_idle(self, max_steps: int = 100_000) -> int:
        """Step until there is nothing to do at this moment; how many steps that took.

        Raises ``TimeoutError`` after ``max_steps``: something keeps itself busy, such as an endless unreliable spout.
        """
        for steps in range(1, max_steps + 1):
            if not self.step():
                return steps
        raise TimeoutError(f"topology {self.topology.name!r} is still busy after {max_steps} steps")

    def advance(self, secs: float) -> None:
        """Let so many seconds pass: ticks, expiries, batches and replays come when they are due."""
        until = self.clock.now() + secs
        self.run_until_idle()
        while self.clock.now() < until:
            self._pass_time(until)
            self.run_until_idle()

    def run_to_end(self, max_secs: float = 3600.0) -> Summary:
        """Go on until the input has ended and every tuple is settled, or a task asked to stop; then stop.

        Raises ``TimeoutError`` where that is not so after ``max_secs`` of the clock.
        """
        until = self.clock.now() + max_secs
        self.run_until_idle()
        while not (self._ended or self._stop_asked):
            if self.clock.now() >= until:
                stats = self.stats()
                raise TimeoutError(
                    f"topology {self.topology.name!r} has not ended after {max_secs} s of its clock; "
                    f"{stats.pending} source tuples are pending"
                )
            self._pass_time(until)
            self.run_until_idle()
        return self.stop()

    def stop(self, timeout: float | None = None) -> Summary:
        """Drain, for ``timeout`` seconds of the clock at most, and deactivate everything; once, then it only tells."""
        if not self._stopped:
            self._stopped = True
            crashed = bool(self._errors)
            self._state = "draining"
            self.runtime.stop(timeout, drain=not crashed)
            self._state = "failed" if self._errors else "stopped"
        return self.stats()

    # --- telling ----------------------------------------------------------------------------------------------------

    def stats(self) -> Summary:
        """What it has done so far."""
        spouts = self.runtime.spout_tasks.values()
        kinds = sorted({kind for spout in spouts for kind in spout.nacks})
        return Summary(
            self.topology.name,
            self._state,
            self.clock.now(),
            0,
            self._ledger.components(self.runtime),
            nacks={kind: sum(spout.nacks.get(kind, 0) for spout in spouts) for kind in kinds},
            first_failures=tuple(reason for spout in spouts for reason in spout.reasons)[:5],
        )

    # --- ending -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop and free everything; what is unsettled is nacked with kind ``stopped``. Does nothing a second time."""
        if self._steppers:
            try:
                self.stop(0)
            finally:
                for stepper in self._steppers:
                    stepper.close()
                self._steppers = []
                self.runtime.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- time -------------------------------------------------------------------------------------------------------

    def _wait(self, is_done: Callable[[], bool], until: float) -> bool:
        """How the runtime's ``stop`` waits: by letting the executors go on, and time pass where they are idle."""
        while not is_done():
            if self.step():
                continue
            if self.clock.now() >= until:
                return is_done()
            self._pass_time(until)
        return True

    def _pass_time(self, until: float) -> None:
        """Move the clock to when something may be due next, ``until`` at the latest."""
        now = self.clock.now()
        idle = min(executor.idle_ms(now) for executor in self.runtime.executors) / 1000
        self.clock.advance(min(max(idle, _LEAST_SECS), until - now))
