"""The jobs as bytewax dataflows: a state per key where tuples are grouped, in batches of the best size measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

from benchmarks.job import Job, Step, Tally, merged

__all__ = ["prepare", "prepare_strings"]

_BATCH = 128
"""Of 1, 10, 32, 128, 256 and 1,000 source items a batch, 32 and 128 were the fastest."""


def prepare(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    """The same user functions and records as everybody's."""
    op = import_module("bytewax.operators")
    flow = import_module("bytewax.dataflow").Dataflow(job.name)
    stream = op.map("make", op.input("source", flow, _source(items)), job.make)
    for step in job.steps[:-1]:
        if step.fold is not None:
            stream = op.key_rm(f"{step.name}-rm", _keyed(op, step, stream))
        else:
            stream = op.flat_map(step.name, stream, _listed(step))
    last = job.steps[-1]
    tallies: list[Tally] = []
    for copy in range(last.copies):
        tally = Tally()
        tallies.append(tally)
        if last.fold is not None:
            op.output("outcome", _keyed(op, last, stream), _sink(_note_last(tally)))
        else:
            op.output(f"{last.name}-{copy}", stream, _sink(_consume(last, tally)))
    return _timed(flow, tallies)


def prepare_strings(job: Job, items: Sequence[Any]) -> Callable[[], Tally]:
    """A word count with no records at all: the fastest that was found, and less work than everybody else does."""
    op = import_module("bytewax.operators")
    flow = import_module("bytewax.dataflow").Dataflow(job.name)
    words = op.flat_map("split", op.input("source", flow, _source(items)), str.split)
    counts = op.stateful_map("count", op.key_on("key", words, lambda word: word), _count)
    tally = Tally()
    op.output("outcome", counts, _sink(tally.update))
    return _timed(flow, [tally])


def _count(met: int | None, word: str) -> tuple[int, int]:
    met = (met or 0) + 1
    return met, met


def _keyed(op: Any, step: Step, stream: Any) -> Any:
    assert step.key is not None
    get = attrgetter(step.key)
    key = get if step.key == "word" else lambda tuple: str(get(tuple))
    return op.stateful_map(step.name, op.key_on(f"{step.name}-key", stream, key), step.fold)


def _listed(step: Step) -> Callable[[Any], list[Any]]:
    consume, state = step.consume, Tally()

    def listed(tuple: Any) -> list[Any]:
        out: list[Any] = []
        consume(state, tuple, out.append)
        return out

    return listed


def _note_last(tally: Tally) -> Callable[[Sequence[Any]], None]:
    def note(batch: Sequence[Any]) -> None:
        for _, (key, met) in batch:
            tally[key] = met

    return note


def _consume(step: Step, tally: Tally) -> Callable[[Sequence[Any]], None]:
    def consume(batch: Sequence[Any]) -> None:
        for tuple in batch:
            step.consume(tally, tuple, None)

    return consume


def _timed(flow: Any, tallies: Sequence[Tally]) -> Callable[[], Tally]:
    run_main = import_module("bytewax.testing").run_main

    def timed() -> Tally:
        run_main(flow)
        return merged(tallies)

    return timed


def _source(items: Sequence[Any]) -> Any:
    inputs: Any = import_module("bytewax.inputs")

    class Partition(inputs.StatelessSourcePartition):  # type: ignore[misc]
        """Batches of the items."""

        at = 0

        def next_batch(self) -> Sequence[Any]:
            if self.at >= len(items):
                raise StopIteration
            self.at += _BATCH
            return items[self.at - _BATCH : self.at]

    class Source(inputs.DynamicSource):  # type: ignore[misc]
        """One partition."""

        def build(self, *_: Any) -> Any:
            return Partition()

    return Source()


def _sink(write: Callable[[Sequence[Any]], object]) -> Any:
    outputs: Any = import_module("bytewax.outputs")

    class Partition(outputs.StatelessSinkPartition):  # type: ignore[misc]
        """Hands each batch on."""

        def write_batch(self, batch: Sequence[Any]) -> None:
            write(batch)

    class Sink(outputs.DynamicSink):  # type: ignore[misc]
        """One partition."""

        def build(self, *_: Any) -> Any:
            return Partition()

    return Sink()
