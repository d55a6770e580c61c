"""Count words: what a user writes, to be checked strictly; and each kind of function that a component may be given."""

import functools
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fsshelter_py import (
    END,
    Bolt,
    Collector,
    Custom,
    DeadLetter,
    Delivery,
    Emit,
    EndOfInput,
    Group,
    NackReason,
    Shuffle,
    Spout,
    Subscription,
    Subscriptions,
    TaskContext,
    Tick,
    Topology,
    topology,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    word: str


@dataclass(frozen=True, slots=True)
class WordCount:
    word: str
    count: int


def split(sentence: Sentence, emit: Emit[Word]) -> None:
    for word in sentence.text.split():
        emit(Word(word))


def count(counts: Counter[str], word: Word, emit: Emit[WordCount]) -> None:
    counts[word.word] += 1
    emit(WordCount(word.word, counts[word.word]))


def log_count(result: WordCount, emit: Emit[Any]) -> None:
    print(result)


@topology("word-count")
def word_count(path: str = "…") -> Subscriptions:
    sentences = Spout.replaying(lambda ctx: [Sentence(path)], max_attempts=3)
    splitter = Bolt.run(split).with_parallelism(2)
    counter = Bolt.run(count, make_args=lambda ctx: Counter()).with_parallelism(2)
    report = Bolt.run(log_count)

    yield sentences >> splitter | Shuffle.on(Sentence)
    yield splitter >> counter | Group.by(Word, "word")
    yield counter >> report | Group.by(WordCount, "word").unanchored()


built: Topology = word_count("a.txt") + word_count(path="b.txt").with_name("other").with_conf(max_spout_pending=1)


def generate(ctx: TaskContext) -> Iterator[Word]:
    ctx.log.info("reading")
    yield Word("a")


def pull(words: Iterator[Word]) -> tuple[int, Word] | EndOfInput | None:
    word = next(words, None)
    return END if word is None else (1, word)


async def pull_async(ctx: TaskContext) -> tuple[int, Word] | None:
    return 1, Word(ctx.component)


def pull_unreliably(words: Iterator[Word]) -> Word | None:
    return next(words, None)


async def look_up(cache: dict[str, int], word: Word | Tick, emit: Emit[WordCount | Word]) -> None:
    if isinstance(word, Word):
        emit(word)
        emit.direct(3, WordCount(word.word, cache[word.word]))


def write(words: Sequence[Word], emit: Emit[WordCount]) -> None:
    emit(WordCount(words[0].word, len(words)))


def write_list(words: list[Word], emit: Emit[WordCount]) -> None:
    words.clear()


def settle(delivery: Delivery[Word], collector: Collector[WordCount]) -> None:
    collector.emit(WordCount(delivery.tuple.word, 1), anchors=[delivery])
    collector.ack(delivery)


class Store:
    def __init__(self, ctx: TaskContext) -> None:
        self.seen = ctx.conf.max_spout_pending

    def consume(self, word: Word, emit: Emit[WordCount]) -> None: ...

    async def consume_async(self, word: Word, emit: Emit[WordCount]) -> None: ...

    def pull(self) -> tuple[str, Word] | None: ...

    def ack(self, tuple_id: str) -> None: ...

    async def nack(self, tuple_id: str, reason: NackReason, tuple: Word) -> None: ...

    def close(self) -> None: ...


SPOUTS = [
    Spout.replaying(generate, backoff=lambda attempts: 2.0**attempts),
    Spout.run_reliable(pull, make_args=generate),
    Spout.run_reliable(pull, make_args=lambda ctx: iter([Word("a")])),
    Spout.run_reliable(pull_async),
    Spout.run_reliable(lambda ctx: (ctx.task_id, Word("a"))),
    Spout.run_reliable(
        Store.pull, make_args=Store, make_acker=lambda store: (store.ack, store.nack), deactivate=Store.close
    ),
    Spout.run_unreliable(pull_unreliably, make_args=generate),
    Spout.run_unreliable(lambda ctx: Word("a")),
]


def bolts(store: Store) -> list[Bolt]:
    return [
        Bolt.run(look_up, make_args=lambda ctx: {}).with_concurrency(8).with_conf(tick_tuple_freq_secs=1),
        Bolt.run(functools.partial(count, Counter[str]())),
        Bolt.run(store.consume),
        Bolt.run(Store.consume, make_args=Store),
        Bolt.run(Store.consume_async, make_args=Store),
        Bolt.run(lambda word, emit: emit(word)),
        Bolt.run(lambda counts, word, emit: counts.update(word), make_args=lambda ctx: Counter[str]()),
        Bolt.run_terminator(split).with_activation(Sentence("")),
        Bolt.run_batched(write, max_size=100, max_wait=1),
        Bolt.run_batched(write_list, max_size=100, max_wait=0.5),
        Bolt.run_manual(settle),
    ]


def counted(words: Spout) -> Generator[Subscription, None, Bolt]:
    counter = Bolt.run(count, make_args=lambda ctx: Counter())
    yield words >> counter | Group.by(Word, key=lambda word: word.word.lower())
    return counter


@topology("nested")
def nested(*, files: list[str]) -> Subscriptions:
    words = Spout.replaying(generate).with_parallelism(len(files))
    counter = yield from counted(words)
    report = Bolt.run(log_count)
    dead = Bolt.run(lambda letter, emit: print(letter))
    yield counter >> report | Custom.on(WordCount, lambda result, task_ids: task_ids[result.count % len(task_ids)])
    yield words >> dead | Shuffle.on(DeadLetter)
