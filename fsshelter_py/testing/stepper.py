"""Taking an executor's turns one by one, in the caller's thread.

A plain executor's turn is a call. One of async components needs a loop for its coroutines: here one whose time is the
harness's clock, so that ``asyncio.sleep`` in user code ends when the clock is moved, and which is run for one round of
callbacks at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fsshelter_py.clock import Clock
from fsshelter_py.execute.executor import Executor
from fsshelter_py.execute.loop_executor import LoopExecutor

__all__ = ["Stepper"]


class Stepper:
    """Takes the turns of one executor."""

    def __init__(self, executor: Executor, clock: Clock) -> None:
        self.executor = executor
        self._loop = _SteppedLoop(clock) if isinstance(executor, LoopExecutor) else None

    def step(self) -> bool:
        """One turn; whether anything was done, or, on a loop, is still to be done at once."""
        return self._turn() if self._loop is None else self._loop.round(self._turn)

    def is_idle(self) -> bool:
        """Whether its thread, if it had one, would sleep now. A poke is used up, as it is by a thread."""
        mailbox = self.executor.mailbox
        idle = mailbox.doze()
        if idle:
            mailbox.rise()
        return idle

    def close(self) -> None:
        """Cancel what is in flight and free the loop."""
        if self._loop is not None:
            assert isinstance(self.executor, LoopExecutor)
            self._loop.run_until_complete(self.executor.cancel_all())
            self._loop.close()

    def _turn(self) -> bool:
        try:
            return self.executor.turn()
        except BaseException as error:
            self.executor.fail(error)
            return True


class _SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop that is run round by round and knows whether a round left anything to do."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._stepped_clock = clock
        self._made_ready = 0

    def time(self) -> float:
        return self._stepped_clock.now()

    def call_soon(self, *args: Any, **kwargs: Any) -> asyncio.Handle:  # type: ignore[override]
        self._made_ready += 1
        return super().call_soon(*args, **kwargs)

    def round(self, turn: Callable[[], bool]) -> bool:
        """Take a turn and run every callback that is ready; whether either did something, or left something ready.

        A timer that is due runs in the round and wakes whoever waits for it by a callback of its own, which counts.
        """
        worked: list[bool] = []
        self.call_soon(lambda: worked.append(turn()))
        self.call_soon(self.stop)
        self._made_ready = 0
        self.run_forever()
        return worked[0] or self._made_ready > 0
