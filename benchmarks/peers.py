"""The jobs as others do them. None of these tracks or acks anything.

Each function builds what can be built before the clock starts and returns what is to be timed. Libraries are imported
there: a contestant that is not installed is left out, and none is loaded beside another.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks import bytewax_flow
from benchmarks.job import Job, Step, Tally, merged

__all__ = ["PEERS"]

_QUEUE_SIZE = 1_024
"""As the rings of fsshelter_py hold by default."""


def _listed(step: Step) -> Callable[[Any], list[Any]]:
    """A step for those who take a list of what comes of a tuple."""
    consume, state = step.consume, Tally()

    def listed(tuple: Any) -> list[Any]:
        out: list[Any] = []
        consume(state, tuple, out.append)
        return out

    return listed


def _plain(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    return partial(job.plain, items)


def _nested(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    """Each emit calls the next user function: what the user code alone costs where nothing stands between."""
    last: list[Tally] = []

    def callback(consume: Callable[..., object], state: Tally, emit: Any) -> Callable[[Any], object]:
        return lambda tuple: consume(state, tuple, emit)

    emit: Any = None
    for step in reversed(job.steps):
        callbacks = []
        for _ in range(step.copies):
            state = Tally()
            if step is job.steps[-1]:
                last.append(state)
            callbacks.append(callback(step.consume, state, emit))
        emit = callbacks[0] if len(callbacks) == 1 else _to_each(callbacks)

    def timed() -> Tally:
        for item in items:
            emit(job.make(item))
        return merged(last)

    return timed


def _to_each(callbacks: Sequence[Callable[[Any], object]]) -> Callable[[Any], None]:
    def emit(tuple: Any) -> None:
        for callback in callbacks:
            callback(tuple)

    return emit


def _streamz(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    source = import_module("streamz").Stream()
    node = source.map(job.make)
    for step in job.steps[:-1]:
        node = node.map(_listed(step)).flatten()
    last = job.steps[-1]
    tallies = [Tally() for _ in range(last.copies)]
    for tally in tallies:
        node.sink(partial(_sink, last.consume, tally))

    def timed() -> Tally:
        for item in items:
            source.emit(item)
        return merged(tallies)

    return timed


def _sink(consume: Callable[..., object], tally: Tally, tuple: Any) -> None:
    consume(tally, tuple, None)


def _reactivex(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    rx, ops, subject = (
        import_module("reactivex"),
        import_module("reactivex.operators"),
        import_module("reactivex.subject"),
    )
    source = subject.Subject()
    stream = source.pipe(ops.map(job.make))
    for step in job.steps[:-1]:
        stream = stream.pipe(ops.map(_listed(step)), ops.flat_map(rx.from_iterable))
    last = job.steps[-1]
    tallies = [Tally() for _ in range(last.copies)]
    stream = stream.pipe(ops.share()) if last.copies > 1 else stream
    for tally in tallies:
        stream.subscribe(partial(_sink, last.consume, tally), on_error=_raise)

    def timed() -> Tally:
        for item in items:
            source.on_next(item)
        return merged(tallies)

    return timed


def _raise(error: BaseException) -> None:
    raise error


_END: Any = object()


def _threads(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    """A queue and a worker for each step, or as many workers as it has calls at once."""
    into = [[queue.Queue[Any](_QUEUE_SIZE) for _ in range(step.copies)] for step in job.steps]
    last: list[Tally] = []

    def put(index: int) -> Callable[[Any], None] | None:
        return _to_each([q.put for q in into[index]]) if index < len(into) else None

    def work(step: Step, q: queue.Queue[Any], emit: Any) -> None:
        state = Tally()
        if step is job.steps[-1]:
            last.append(state)
        consume = step.consume
        while (tuple := q.get()) is not _END:
            consume(state, tuple, emit)

    def timed() -> Tally:
        with ThreadPoolExecutor(sum(step.copies * step.at_once for step in job.steps)) as pool:
            workers = [
                [pool.submit(work, step, q, put(index + 1)) for q in into[index] for _ in range(step.at_once)]
                for index, step in enumerate(job.steps)
            ]
            first = put(0)
            assert first is not None
            for item in items:
                first(job.make(item))
            for step, queues, futures in zip(job.steps, into, workers, strict=True):
                for q in queues:
                    for _ in range(step.at_once):
                        q.put(_END)
                for future in futures:
                    future.result()
        return merged(last)

    return timed


def _asyncio(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    """The same with coroutines. What a sync function emits is put once it has returned, since it cannot wait."""
    last: list[Tally] = []

    async def work(step: Step, q: asyncio.Queue[Any], following: Sequence[asyncio.Queue[Any]]) -> None:
        state, out = Tally(), list[Any]()
        if step is job.steps[-1]:
            last.append(state)
        while (tuple := await q.get()) is not _END:
            if step.consume_async is not None:
                await step.consume_async(state, tuple, out.append)
            else:
                step.consume(state, tuple, out.append)
            emitted, out[:] = out[:], []
            for one in emitted:
                for following_queue in following:
                    await following_queue.put(one)

    async def run() -> Tally:
        into = [[asyncio.Queue[Any](_QUEUE_SIZE) for _ in range(step.copies)] for step in job.steps]
        workers = [
            [asyncio.create_task(work(step, q, following)) for q in queues for _ in range(step.at_once)]
            for step, queues, following in zip(job.steps, into, [*into[1:], []], strict=True)
        ]
        for item in items:
            tuple = job.make(item)
            for q in into[0]:
                await q.put(tuple)
        for step, queues, tasks in zip(job.steps, into, workers, strict=True):
            for q in queues:
                for _ in range(step.at_once):
                    await q.put(_END)
            await asyncio.gather(*tasks)
        return merged(last)

    return lambda: asyncio.run(run())


PEERS: dict[str, Callable[[Job, Sequence[Any]], Callable[[], Tally]]] = {
    "plain loop": _plain,
    "nested callbacks": _nested,
    "bytewax": bytewax_flow.prepare,
    "bytewax, bare strings": bytewax_flow.prepare_strings,
    "streamz": _streamz,
    "reactivex": _reactivex,
    "threads with queues": _threads,
    "asyncio with queues": _asyncio,
}
