"""The executor of async components: the same turns, taken between the steps of an event loop.

Everything runs in the loop's thread. Coroutines run beside the turns; when one is done, its callback is kept until the
next turn, so that a turn is never entered from within another.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import zmq
import zmq.asyncio

from fsshelter_py.execute.executor import Executor
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.spout_task import SpoutTask

__all__ = ["LoopExecutor"]

Callback = Callable[[Flow, Any, BaseException | None], None]


class LoopExecutor(Executor):
    """One thread with an event loop, and the tasks it serves."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.flow.spawn = self._spawn
        self.flow.has_loop = True
        self._done: deque[tuple[Callback, Any, BaseException | None]] = deque()
        self._coroutines: set[asyncio.Task[None]] = set()
        self._nudge = asyncio.Event()

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self.close()

    async def _serve(self) -> None:
        listener = asyncio.create_task(self._listen())
        try:
            while not self._halted:
                await self._step()
        finally:
            listener.cancel()
            await self.cancel_all()
            await asyncio.gather(listener, return_exceptions=True)
            self._last_answers()
            await asyncio.gather(*self._coroutines, return_exceptions=True)

    def _last_answers(self) -> None:
        """Have spouts give back what they were answered after the last turn; nothing else is finished any more."""
        while self._done:
            callback, result, error = self._done.popleft()
            if isinstance(getattr(callback, "__self__", None), SpoutTask):
                try:
                    callback(self.flow, result, error)
                except BaseException:
                    self._log.exception("error_after_failure", executor=self.name)

    async def cancel_all(self) -> None:
        """Cancel the coroutines in flight and wait until they are gone."""
        for coroutine in self._coroutines:
            if not coroutine.cancelling():  # a second time would cut short what it does about the first
                coroutine.cancel()
        await asyncio.gather(*self._coroutines, return_exceptions=True)

    async def _listen(self) -> None:
        bell = self.mailbox.bell
        if bell is None:
            return
        socket = zmq.asyncio.Socket(shadow=bell.socket)
        socket.setsockopt(zmq.RCVTIMEO, -1)  # a receive that timed out would raise here, and nobody listen any more
        while True:
            bell.keep(await socket.recv())
            self._nudge.set()

    def _letters(self) -> list[bytes]:
        assert self.mailbox.bell is not None
        return self.mailbox.bell.kept()  # only the listener receives

    async def _step(self) -> None:
        self._nudge.clear()
        try:
            if self.turn():
                await asyncio.sleep(0)
                return
        except BaseException as error:
            self.fail(error)
            return
        if self.notify is not None:
            self.notify()
        if self.mailbox.doze():
            before = self._clock.now()
            try:
                async with asyncio.timeout(self.idle_ms(before) / 1000):
                    await self._nudge.wait()
            except TimeoutError:
                pass
            self.mailbox.rise()
            self.slept += self._clock.now() - before

    def turn(self) -> bool:
        """Call back for the coroutines that are done, then do what any executor does."""
        worked = bool(self._done)
        flow = self.flow
        while self._done:
            callback, result, error = self._done.popleft()
            callback(flow, result, error)
            if flow.after:
                flow.run_after()
        return super().turn() or worked

    def _spawn(self, awaitable: Awaitable[Any], callback: Callback) -> asyncio.Task[None]:
        task = asyncio.create_task(self._guard(awaitable, callback))
        self._coroutines.add(task)
        task.add_done_callback(partial(self._ended, awaitable, callback))
        return task

    def _ended(self, awaitable: Awaitable[Any], callback: Callback, task: asyncio.Task[None]) -> None:
        self._coroutines.discard(task)
        if task.cancelled():  # before it began: the guard lets nothing pass
            if inspect.iscoroutine(awaitable):
                awaitable.close()
            self._finish(callback, None, asyncio.CancelledError())

    async def _guard(self, awaitable: Awaitable[Any], callback: Callback) -> None:
        """Whatever user code raises, SystemExit included, is a result: it must not reach the event loop."""
        result, error = None, None
        try:
            result = await awaitable
        except BaseException as raised:
            error = raised
        self._finish(callback, result, error)

    def _finish(self, callback: Callback, result: Any, error: BaseException | None) -> None:
        self._done.append((callback, result, error))
        self._nudge.set()
