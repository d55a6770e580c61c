"""The executor: a thread that serves its tasks in turns.

Thread contract. ``turn`` and everything it calls run in the executor's thread alone; with it goes all state of its
tasks and its flow. Other threads put messages in the tasks' channels, call ``halt``, and read counters. The receiving
end of the doorbell is used, and closed, by the executor's thread.

A turn: letters of other processes are read, into the channels; then control messages of every task, data for a moment,
the spouts and what else is due; then the ackers are told and the rings offered to. An executor with nothing to do
sleeps on its doorbell.

Control never waits behind data: data that is not done in its moment stays in the backlog for the next turn, and the
task is held meanwhile, so that its ring fills up and holds back whoever sends to it.

When something is unhandled, the error is reported once and the executor goes on in a reduced way: no data, no asking;
acks, nacks and deactivation still work, so that what is unsettled can be handed back.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fsshelter_py.channel import Mailbox
from fsshelter_py.clock import Clock
from fsshelter_py.errors import FsShelterError
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.task import Task
from fsshelter_py.model.message import Deactivate, Settlements

__all__ = ["Executor"]

_SLEEP_MS = 100
_MOMENT_SECS = 0.005


class Executor:
    """One thread and the tasks it serves."""

    def __init__(self, name: str, mailbox: Mailbox, flow: Flow, clock: Clock, *, log: Any) -> None:
        """log: a logger of the runtime."""
        self.name = name
        self.mailbox = mailbox
        self.flow = flow
        self.tasks: list[Task] = []
        self.failed = False
        self.slept = 0.0
        """Seconds spent asleep."""
        self.notify: Callable[[], None] | None = None
        """Called before going to sleep, while somebody waits for the runtime to be quiet."""
        self.read: Callable[[bytes], None] | None = None
        """What reads the letters of other processes; None where none come to this executor's doorbell."""
        self.on_exception: Callable[[BaseException], None] = lambda error: None
        self._clock = clock
        self._log = log
        self._timed: list[Task] = []
        self._control: deque[tuple[Task, Any]] = deque()
        self._backlog: deque[tuple[Task, deque[Any]]] = deque()
        """Data taken and not run. Invariant between turns: each of its tasks is held for it, once."""
        self._halted = False
        self._died_of: BaseException | None = None
        self._finished = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        flow.spawn = self._run_coroutine

    def serve(self, tasks: Sequence[Task]) -> None:
        """Serve these tasks; once, before the start."""
        self.tasks = list(tasks)
        self._timed = [task for task in tasks if type(task).due is not Task.due]

    # --- from other threads -----------------------------------------------------------------------------------------

    def start(self, title: str) -> None:
        """Start the thread, under this name."""
        thread = threading.Thread(target=self._live, name=title, daemon=True)
        thread.start()
        self._thread = thread  # only now: one that has not begun yet would look dead to the system task

    def halt(self) -> None:
        """End after the present turn."""
        self._halted = True
        self.mailbox.poke()

    def join(self, timeout: float | None) -> bool:
        """Wait for the thread to end; whether it has."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    @property
    def has_died(self) -> bool:
        """Whether the thread has ended without having been told to."""
        return self._thread is not None and not self._thread.is_alive() and not self._halted

    @property
    def thread(self) -> threading.Thread | None:
        return self._thread

    @property
    def death(self) -> Exception:
        """What to report of a thread that has died."""
        error = FsShelterError(f"the thread of executor {self.name} died")
        error.__cause__ = self._died_of
        return error

    # --- the executor's own thread ----------------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            self._main()
        except BaseException as error:  # told by whoever notices: the system task, or the supervisor
            self._died_of = error

    def _main(self) -> None:
        try:
            while not self._halted:
                self.step()
        finally:
            self.close()

    def close(self) -> None:
        """Free what it holds; by its thread, or where it never had one."""
        if self._loop is not None:
            self._loop.close()
        if self.mailbox.bell is not None:
            self.mailbox.bell.close()

    def step(self) -> None:
        """A turn, or a sleep where there was nothing to do."""
        try:
            if self.turn():
                return
        except BaseException as error:
            self.fail(error)
            return
        if self.notify is not None:
            self.notify()
        before = self._clock.now()
        self.mailbox.sleep(self.idle_ms(before))
        self.slept += self._clock.now() - before

    def turn(self) -> bool:
        """Do what there is to do; whether there was anything."""
        flow, control = self.flow, self._control
        if self.read is not None:
            for letter in self._letters():
                self.read(letter)
        taken = self.mailbox.take()
        worked = bool(taken)
        for task, messages, data in taken:
            for message in messages:
                control.append((task, message))
            if data:
                task.hold()
                self._backlog.append((task, deque(data)))
        if self.failed:
            self._reduced()
            return worked
        if control:
            while control:
                task, message = control.popleft()
                task.control(message, flow)
                if flow.after:
                    flow.run_after()
            flow.flush()
        until = self._clock.now() + _MOMENT_SECS
        if self._backlog:
            worked = self._run_backlog(until) or worked
        for task in self._timed:
            if task.turn(flow):
                worked = True
                if flow.after:
                    flow.run_after()
                if self._clock.now() >= until:
                    flow.flush()
        flow.flush()
        # What the flush released has a backlog that nobody will wake this executor for.
        return worked or any(task.held == 1 for task, _ in self._backlog)

    def _letters(self) -> list[bytes]:
        assert self.mailbox.bell is not None
        return self.mailbox.bell.collect()

    def _run_backlog(self, until: float) -> bool:
        """Run data until a moment, or its end; whether any was run. Where there is more, the next one is begun with."""
        flow, now, backlog = self.flow, self._clock.now, self._backlog
        worked = False
        for _ in range(len(backlog)):
            task, data = backlog.popleft()
            assert isinstance(task, BoltTask)
            if not task.started:
                self._drop(data)
            worked = worked or (bool(data) and task.held == 1)
            flow.bundles(task, data, until)
            if data:
                backlog.append((task, data))
            else:
                task.release()
            if now() >= until:
                flow.flush()
                break
        return worked

    def idle_ms(self, now: float) -> int:
        """How long nothing will be due, in whole milliseconds, rounded up."""
        wait = _SLEEP_MS / 1000
        for task in () if self.failed else self._timed:
            due = task.due()
            if due is not None:
                wait = min(wait, due - now)
        return max(0, int(wait * 1000 + 0.999))

    def fail(self, error: BaseException) -> None:
        """Report an unhandled error and go on in the reduced way."""
        if self.failed:
            self._log.error("error_after_failure", executor=self.name, exc_info=error)
            return
        self.failed = True
        self.on_exception(error)

    def _reduced(self) -> None:
        while self._control:
            task, message = self._control.popleft()
            if isinstance(message, (Settlements, Deactivate)):
                try:
                    task.control(message, self.flow)
                except BaseException:
                    self._log.exception("error_after_failure", executor=self.name)
                    if isinstance(message, Deactivate):
                        message.deactivated()
        while self._backlog:
            task, data = self._backlog.popleft()
            self._drop(data)
            task.release()

    def _drop(self, data: deque[Any]) -> None:
        """Leave data to its trees' spouts: they are told it was stopped."""
        self.flow.done += len(data)
        data.clear()

    def _run_coroutine(
        self, awaitable: Awaitable[Any], callback: Callable[[Flow, Any, BaseException | None], None]
    ) -> None:
        """An ack handler of a sync spout may be a coroutine function all the same: run it to its end."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        result, error = None, None
        try:
            result = self._loop.run_until_complete(awaitable)
        except BaseException as raised:
            error = raised
        callback(self.flow, result, error)
