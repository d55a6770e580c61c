"""Worker processes: ``python -m benchmarks.workers SHAPE WORKERS SIZE`` prints the time of a tuple as JSON.

Everything is on the shared executor of its process, so that one process is as quick as it can be. Timed is from when
all processes are at work to the end of the last one; not timed is their start.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

from benchmarks.job import Tally
from benchmarks.number_jobs import Number, burn
from benchmarks.word_jobs import Sentence, Word
from fsshelter_py import (
    Bolt,
    Emit,
    Group,
    Grouping,
    LocalOrShuffle,
    Shuffle,
    Spout,
    Subscription,
    TaskContext,
    Topology,
    run_no_restart,
    topology,
)
from fsshelter_py.garbage import collect_less

__all__ = ["SHAPES", "Shape", "main"]

_TASKS = 2
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "runs", "away", "from", "it")
_LINES = [" ".join(_WORDS[start * word % len(_WORDS)] for word in range(8)) for start in range(1_000)]


@dataclass(frozen=True, slots=True)
class Shape:
    """make: a topology of so many source tuples. size: of a full run. unit: what a source tuple is."""

    title: str
    make: Callable[[int], Topology]
    size: int
    unit: str


def _fresh(_: TaskContext) -> Tally:
    return {}


def _split(sentence: Sentence, emit: Emit[Word]) -> None:
    for word in sentence.text.split():
        emit(Word(word))


def _count(counts: Tally, word: Word, _: Emit[Word]) -> None:
    counts[word.word] = counts.get(word.word, 0) + 1


def _computing(size: int) -> Topology:
    @topology("computing")
    def computing() -> Iterator[Subscription]:
        numbers = Spout.replaying(lambda ctx: (Number(n) for n in range(size)))
        burner = Bolt.run(burn, make_args=_fresh).with_parallelism(_TASKS)
        yield numbers >> burner | Shuffle.on(Number)

    return computing()


def _counting(size: int, grouping: Grouping) -> Topology:
    @topology("counting")
    def counting() -> Iterator[Subscription]:
        lines = Spout.replaying(lambda ctx: (Sentence(_LINES[n % len(_LINES)]) for n in range(size // _TASKS)))
        lines = lines.with_parallelism(_TASKS).with_conf(spout_workers="spread")
        splitter = Bolt.run(_split).with_parallelism(_TASKS)
        counter = Bolt.run(_count, make_args=_fresh).with_parallelism(_TASKS)
        yield lines >> splitter | LocalOrShuffle.on(Sentence)
        yield splitter >> counter | grouping

    return counting()


SHAPES = {
    "computing": Shape("a bolt of about 50 µs, half of its tuples crossing", _computing, 60_000, "number"),
    "apart": Shape(
        "counted words, nothing crossing", lambda size: _counting(size, LocalOrShuffle.on(Word)), 300_000, "line"
    ),
    "crossing": Shape(
        "counted words, half of them crossing", lambda size: _counting(size, Group.by(Word, "word")), 200_000, "line"
    ),
}


def main(shape_name: str, workers: str, size: str) -> None:
    """Measure once; SIZE is rounded down to an even number."""
    count = int(size) // _TASKS * _TASKS
    collect_less()
    made = SHAPES[shape_name].make(count).with_conf({"workers": int(workers), "placement": "shared"})
    hosted = run_no_restart(made)
    while hosted.state == "starting":
        time.sleep(0.002)
    start = perf_counter()
    summary = hosted.wait()
    seconds = perf_counter() - start
    if summary.acked != count or not summary.ok:
        sys.exit(f"{summary.acked} of {count} tuples were acked")
    words = summary.components.get("counter")
    if words is not None and words.executed != 8 * count:
        sys.exit(f"{words.executed} of {8 * count} words were counted")
    print(json.dumps({"micros": seconds / count * 1e6}))


if __name__ == "__main__":
    main(*sys.argv[1:])
