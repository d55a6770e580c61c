"""The executor of async components, by itself."""

import asyncio

import zmq

from fsshelter_py.channel import Mailbox, Switchboard
from fsshelter_py.clock import MonotonicClock
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.loop_executor import LoopExecutor
from fsshelter_py.execute.trees import Trees


def test_rings_are_heard_after_an_idle_time() -> None:
    """The doorbell's receive times out for a plain executor; here that must not end the listening."""
    board = Switchboard(1)
    bell = board.doorbell(["inproc://a"])
    ring = board.connect("inproc://a")
    bell.socket.setsockopt(zmq.RCVTIMEO, 1)

    async def listen() -> None:
        mailbox, clock = Mailbox(bell, ring), MonotonicClock()
        executor = LoopExecutor("loop", mailbox, Flow(mailbox, Trees(()), clock), clock, log=None)
        listener = asyncio.create_task(executor._listen())
        ended, _ = await asyncio.wait({listener}, timeout=0.05)
        assert not ended
        ring()
        await asyncio.wait_for(executor._nudge.wait(), 30)
        listener.cancel()
        await asyncio.wait({listener})

    asyncio.run(listen())
    bell.close()
    board.term()


def test_a_coroutine_cancelled_before_it_began_is_told_of() -> None:
    """Nobody would call back for it otherwise, and Python warns of a coroutine that was never awaited."""
    told: list[BaseException | None] = []

    async def never() -> None:
        raise AssertionError("it does not begin")

    async def spawn_and_cancel() -> None:
        mailbox, clock = Mailbox(None, lambda: None), MonotonicClock()
        executor = LoopExecutor("loop", mailbox, Flow(mailbox, Trees(()), clock), clock, log=None)
        executor.flow.spawn(never(), lambda flow, result, error: told.append(error)).cancel()
        await executor.cancel_all()
        executor.turn()

    asyncio.run(spawn_and_cancel())
    assert [type(error) for error in told] == [asyncio.CancelledError]
