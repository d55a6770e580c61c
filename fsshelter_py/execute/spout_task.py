"""The spout task: asks its source while it may, and tells it what became of each tuple."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fsshelter_py.clock import Clock
from fsshelter_py.errors import ComponentError, EmitError, SourceError
from fsshelter_py.execute.source import Source
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.unresolved import Unresolved
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.message import Deactivate, Pause, Settlements, Wake
from fsshelter_py.model.outcome import END, NackKind, NackReason
from fsshelter_py.model.printed import printed

if TYPE_CHECKING:
    from fsshelter_py.execute.flow import Flow

__all__ = ["SpoutTask"]

_BURST = 64
_BURST_SECS = 0.005
_SAMPLE_EVERY = 16
_NO_TREE = 0
"""In place of a tree, for a tuple that its spout answered with when it was too late to emit it."""

_REASONS = 5
_KINDS = 64
"""Kinds of reasons that are told apart: a user may make classes of errors without end."""


class SpoutTask(Task):
    """One task of a spout.

    unsettled: by tree, ``(key, tuple, when)`` of what was emitted and is not settled; ``when`` only for a sample.
    exhausted: the source said END, and nothing was nacked since.
    at_rest: the input has ended, or asking has stopped, and nothing is unsettled. Once true it stays true, unless a
    nack handler that is a coroutine is still running; it is cleared before that counts as done. Read by other threads.
    """

    __slots__ = (
        "_abandoned",
        "_asking",
        "_clock",
        "_current",
        "_deactivate",
        "_idle_secs",
        "_idle_until",
        "_make_source",
        "_max_pending",
        "_on_change",
        "_paused",
        "_reasons",
        "_sample_at",
        "_source",
        "_telling",
        "_then",
        "_to_wind_down",
        "_unresolved",
        "acked",
        "at_rest",
        "exhausted",
        "nacks",
        "unsettled",
    )

    def __init__(
        self,
        context: TaskContext,
        make_source: Callable[[SpoutTask], tuple[Source, Callable[[], Any]]],
        clock: Clock,
        unresolved: Unresolved,
        on_change: Callable[[], None],
    ) -> None:
        """make_source: makes the source and what deactivates it, in the executor.

        on_change: called when it is exhausted or at rest.
        """
        super().__init__(context)
        self._make_source = make_source
        self._source: Any = None
        self._deactivate: Callable[[], Any] | None = None
        self._clock = clock
        self._unresolved = unresolved
        self._on_change = on_change
        self._max_pending = context.conf.max_spout_pending
        self._idle_secs = context.conf.sleep_spout_wait_strategy_time_ms / 1000
        self._idle_until = 0.0
        self.exhausted = self._paused = False
        self._asking: Any = None
        self._current: list[tuple[Any, Any, float]] = []
        """The source tuple being run, which is not in ``unsettled`` yet."""
        self._then: Callable[[], None] | None = None
        """What is to be done once ``next`` has answered."""
        self._abandoned = False
        self._to_wind_down = [None]
        """Whoever takes it out winds down: the executor, or the thread that abandons it."""
        self._telling = threading.Lock()
        """Guards what is counted of nacks, by both of them."""
        self._sample_at = 0
        self.at_rest = False
        self.unsettled: dict[int, tuple[Any, Any, float]] = {}
        self.acked = 0
        self.nacks: dict[NackKind, int] = {}
        self._reasons: dict[tuple[str, str | None, type], tuple[int, str]] = {}
        """How often it was nacked for each kind of reason, and the first of that kind."""

    @property
    def reasons(self) -> list[str]:
        """One nack reason of each kind, the most frequent first: what fails most may not be what failed first."""
        with self._telling:
            kinds = list(self._reasons.values())
        return [shown for _, shown in sorted(kinds, key=lambda kind: -kind[0])[:_REASONS]]

    @property
    def pending(self) -> int:
        return len(self.unsettled) + len(self._current)

    @property
    def dead(self) -> int:
        """Tuples given up by a replaying source."""
        return self._source.dead if self._source is not None else 0

    @property
    def letters_acked(self) -> int:
        """Dead letters acked, which ``acked`` counts too."""
        return self._source.letters_acked if self._source is not None else 0

    def start(self, flow: Flow) -> None:
        try:
            self._source, self._deactivate = self._make_source(self)
        except BaseException as error:
            raise self._error("make_args failed", error) from error

    # --- asking -----------------------------------------------------------------------------------------------------

    def due(self) -> float | None:
        if not self.started or self._paused or self.exhausted or self.held or self._asking is not None:
            return None
        if self._source.tracked and len(self.unsettled) >= self._max_pending:
            return None
        return self._idle_until

    def turn(self, flow: Flow) -> bool:
        """Ask for a burst of tuples and run each."""
        if not self.started or self._paused or self.exhausted or self.held or self._asking is not None:
            return False
        if self._idle_until:
            if self._clock.now() < self._idle_until:
                return False
            self._idle_until = 0.0
        tracked = self._source.tracked
        room = min(_BURST, self._max_pending - len(self.unsettled)) if tracked else _BURST
        return self._burst(self._source.next, room, flow) and not self._idle_until

    def _burst(self, next: Callable[[int], Any], room: int, flow: Flow) -> bool:
        """Ask for so many tuples, for a moment, and run each; whether any was asked for.

        In one loop: a function for each answer took a twentieth of the time of a word count.
        """
        source, unsettled, current = self._source, self.unsettled, self._current
        tracked, hears_acks, followed, now = source.tracked, source.hears_acks, flow.trees.enabled, self._clock.now
        root = flow.root if followed else flow.root_unfollowed
        until = now() + _BURST_SECS
        for asked in range(room):
            if asked and (self.held or now() >= until):  # the first may be one that was asked for earlier
                break
            try:
                answer = next(len(unsettled))
            except BaseException as error:
                raise self._error("next failed", error) from error
            if not tracked or answer.__class__ is not tuple:
                if self._is_nothing(answer, flow):
                    break
                if not tracked:
                    self._run_untracked(answer, flow)
                    continue
            try:
                key, value = answer
            except (TypeError, ValueError) as error:
                problem = f"next returned {printed(answer)}; expected (tuple_id, tuple), None or END"
                raise ComponentError(problem, component=self.component, task_id=self.id) from error
            when = 0.0
            if self.emitted >= self._sample_at:
                self._sample_at = self.emitted + _SAMPLE_EVERY
                when = perf_counter()
            current.append((key, value, when))
            if self._abandoned:
                self._give_back(flow)
                break
            is_settled = root(self, value)
            try:
                current.pop()
            except IndexError:  # abandoned meanwhile, and told so
                break
            if not is_settled:
                unsettled[flow.anchor] = (key, value, when)
            else:
                if when:
                    self.latency.add(perf_counter() - when)
                reason = flow.reason
                if reason is None and key is None and not hears_acks:
                    self.acked += 1
                elif reason is not None and self._is_no_tuple(reason):
                    unsettled[_NO_TREE] = (key, value, when)
                    raise self._error("next failed", reason.error) from reason.error
                else:
                    self._settled(key, value, reason if followed else None, flow)
            if self._abandoned:
                self._give_back(flow)
                break
            if flow.after:
                flow.run_after()
        return room > 0

    def _answered(self, flow: Flow, answer: Any, error: BaseException | None) -> None:
        self._asking = None
        if self._then is not None:
            if error is None and self._source.tracked and isinstance(answer, tuple) and len(answer) == 2:
                self.unsettled[_NO_TREE] = (*answer, 0.0)
            then, self._then = self._then, None
            if self._abandoned:
                self._give_back(flow)
            then()
            return
        if error is not None:
            if self._paused:
                self._rest()
                return
            raise self._error("next failed", error) from error
        self._burst(lambda _: answer, 1, flow)
        self._rest()

    def _is_nothing(self, answer: Any, flow: Flow) -> bool:
        """Whether what ``next`` answered is no tuple yet: there is none now, or no more, or it has to be awaited."""
        if answer is None:
            waiting = self._source.due()
            until = self._clock.now() + self._idle_secs
            self._idle_until = until if waiting is None else min(until, max(waiting, 1e-9))
        elif answer is END:
            flow.flush()  # what it emitted before is in the rings when the end is known: batches do not end early
            self.exhausted = True
            self._rest()
            self._on_change()
        elif inspect.isawaitable(answer):
            self._asking = flow.spawn(answer, self._answered)
        else:
            return False
        return True

    def _run_untracked(self, value: Any, flow: Flow) -> None:
        flow.untracked(self, [value])
        if flow.reason is not None and self._is_no_tuple(flow.reason):
            raise self._error("next failed", flow.reason.error) from flow.reason.error
        if flow.after:
            flow.run_after()

    def _is_no_tuple(self, reason: NackReason) -> bool:
        """Whether it failed for being of no tuple class: a mistake of the spout's, which no replay would mend."""
        return isinstance(reason.error, EmitError) and reason.task_id == self.id

    def _give_back(self, flow: Flow) -> None:
        """Back from being stuck, after ``abandon``: tell the source of what that could not see yet."""
        for key, value, _ in self._take_unsettled():
            self._settled(key, value, NackReason("stopped", self.component, self.id), flow)

    def blamed(self, error: BaseException, stream: str | None, *, tracked: bool) -> None:
        """A source tuple could not be routed. If it is tracked, its nack counts it."""
        if not tracked:
            super().blamed(error, stream, tracked=False)

    # --- settling ---------------------------------------------------------------------------------------------------

    def control(self, message: Any, flow: Flow) -> None:
        match message:
            case Settlements():
                self.settle(message, flow)
            case Wake():
                self._idle_until = 0.0
            case Pause():
                self._paused = True
                self._cancel_asking()
                self._rest()
            case Deactivate(deactivated=deactivated):
                self._wind_down_by(flow, deactivated)
            case _:
                super().control(message, flow)

    def settle(self, message: Settlements, flow: Flow) -> None:
        """The acker settled some trees of this task."""
        self._idle_until = 0.0
        hears_acks = self._source is None or self._source.hears_acks
        for anchor, reason in message.settled:
            if reason is not None:
                self.at_rest = False
            found = self.unsettled.pop(anchor, None)
            if found is not None:
                key, value, when = found
                if when:
                    self.latency.add(perf_counter() - when)
                if reason is None and key is None and not hears_acks:
                    self.acked += 1
                else:
                    self._settled(key, value, reason, flow)
        self._rest()

    def _settled(self, key: Any, value: Any, reason: NackReason | None, flow: Flow) -> None:
        self._idle_until = 0.0
        try:
            result = self._tell(key, value, reason)
        except BaseException as error:
            raise self._error(f"{'nack' if reason else 'ack'} failed for tuple {printed(key)}", error) from error
        if result is not None and inspect.isawaitable(result):
            flow.sent += 1
            flow.spawn(result, self._told if reason is None else self._told_of_nack)

    def _tell(self, key: Any, value: Any, reason: NackReason | None) -> Any:
        if reason is None:
            self.acked += 1
            if self._unresolved:
                self._unresolved.acked(key)
            return self._source.ack(key, value)
        self.exhausted = False
        kind = (reason.kind, reason.component, type(reason.error))
        new = kind not in self._reasons and len(self._reasons) < _KINDS
        shown = str(reason) if new else ""  # prints what the user raised: not under the lock
        with self._telling:
            self.failed += 1
            self.nacks[reason.kind] = self.nacks.get(reason.kind, 0) + 1
            if new or kind in self._reasons:
                count, first = self._reasons.get(kind, (0, shown))
                self._reasons[kind] = (count + 1, first)
        self._unresolved.nacked(key, reason)
        self.log.debug("nacked", tuple_id=printed(value if key is None else key), reason=str(reason))
        return self._source.nack(key, value, reason)

    def _told_of_nack(self, flow: Flow, result: Any, error: BaseException | None) -> None:
        """Only now may there be something to emit again. It rests no more before that counts as done."""
        self.exhausted = self.at_rest = False
        self._told(flow, result, error)
        self._rest()

    def _told(self, flow: Flow, result: Any, error: BaseException | None) -> None:
        flow.done += 1
        if error is not None:
            raise self._error("an ack or nack handler failed", error) from error

    def _rest(self) -> None:
        if (self.exhausted or self._paused) and not self.unsettled and self._asking is None and not self.at_rest:
            self.at_rest = True
            self._on_change()

    # --- stopping ---------------------------------------------------------------------------------------------------

    def _wind_down_by(self, flow: Flow, deactivated: Callable[[], None]) -> None:
        self._paused = True
        if not self.started or self._abandoned:
            deactivated()
            return
        if self._asking is not None:  # what it answers is given back with the rest
            self._cancel_asking()
            self._then = partial(self._wind_down_by, flow, deactivated)
            return
        self.started = False
        if not self._winds_down():
            deactivated()
            return
        flow.spawn(self._wind_down(), lambda flow, result, error: deactivated())

    def _cancel_asking(self) -> None:
        """Once: a second time would cut short what ``next`` does about the first."""
        if self._asking is not None and not self._asking.cancelling():
            self._asking.cancel()

    async def _wind_down(self) -> None:
        """Nack what is unsettled, then deactivate. A handler that raises is logged: the others must be called too."""
        for key, value, _ in self._take_unsettled():
            try:
                result = self._tell(key, value, NackReason("stopped", self.component, self.id))
                if inspect.isawaitable(result):
                    await result
            except BaseException:
                self.log.exception("nack_failed", tuple_id=printed(key))
        self._unresolved.left(self._source.waiting)
        try:
            result = self._deactivate() if self._deactivate is not None else None
            if inspect.isawaitable(result):
                await result
        except BaseException:
            self.log.exception("deactivate_failed")

    def _take_unsettled(self) -> Iterator[tuple[Any, Any, float]]:
        """Everything that is not settled, in the order emitted. What is taken by one thread is not seen by another."""
        for anchor in list(self.unsettled):
            found = self.unsettled.pop(anchor, None)
            if found is not None:
                yield found
        with suppress(IndexError):
            yield self._current.pop()

    def abandon(self) -> None:
        """Wind down in the calling thread: the executor's is dead, or stuck in user code, from which it may return.

        So that each tuple is settled once, whoever takes it out of where it is kept tells its source.
        """
        if self.started and self._winds_down():
            self._abandoned = True
            self.started = False
            asyncio.run(self._wind_down())

    def _winds_down(self) -> bool:
        """Whether the caller is the first to come, and so the one to wind down."""
        try:
            self._to_wind_down.pop()
        except IndexError:
            return False
        return True

    def _error(self, what: str, error: BaseException) -> Exception:
        if isinstance(error, SourceError):
            return error
        text = f"{what}: {type(error).__name__}: {printed(error, str)}"
        return ComponentError(text, component=self.component, task_id=self.id)
