"""Count the words of a text.

    fsshelter run topologies/word_count.py                                the Python documentation
    fsshelter run topologies/word_count.py --set path=FILE                any text file; - is the standard input
    fsshelter run topologies/word_count.py --set path=FILE --set top=0    every word, not only the 20 most common

Prints a line ``word<TAB>count`` for each word, the most common first. ``--set tasks=4`` counts with four tasks, each
with the words that hash to it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fsshelter_py import Bolt, Emit, Group, Shuffle, Spout, Subscriptions, TaskContext, topology
from fsshelter_py.sources import lines, python_docs


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


@dataclass(frozen=True, slots=True)
class Finish:
    """Handed to the last bolt when the topology stops."""

    top: int


def split(sentence: Sentence, emit: Emit[Word]) -> None:
    for word in sentence.text.split():
        emit(Word(word))


def count(counts: Counter[str], word: Word, emit: Emit[WordCount]) -> None:
    counts[word.word] += 1
    emit(WordCount(word.word, counts[word.word]))


def report(totals: Counter[str], message: WordCount | Finish, emit: Emit[None]) -> None:
    if isinstance(message, WordCount):
        totals[message.word] = max(totals[message.word], message.count)
    else:
        for word, total in totals.most_common(message.top or None):
            print(word, total, sep="\t")


@topology("word-count")
def word_count(path: str | None = None, top: int = 20, tasks: int = 1, encoding: str = "utf-8") -> Subscriptions:
    def text(ctx: TaskContext) -> Iterable[Sentence]:
        return map(Sentence, python_docs()) if path is None else lines(path, into=Sentence, encoding=encoding)

    sentences = Spout.replaying(text, max_attempts=3)
    splitter = Bolt.run(split).with_parallelism(tasks)
    counter = Bolt.run(count, make_args=lambda ctx: Counter[str]()).with_parallelism(tasks)
    reporter = Bolt.run(report, make_args=lambda ctx: Counter[str]()).with_deactivation(Finish(top))

    yield sentences >> splitter | Shuffle.on(Sentence)
    yield splitter >> counter | Group.by(Word, "word")
    yield counter >> reporter | Group.by(WordCount, "word").unanchored()
