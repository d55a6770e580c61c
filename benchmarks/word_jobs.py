"""Word counts over the text that every Python has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.job import Job, Step, Tally
from fsshelter_py import Emit
from fsshelter_py.sources import python_docs

__all__ = ["WORD_JOBS"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A line of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of it."""

    word: str


@dataclass(frozen=True, slots=True)
class WordCount:
    """How often a word was met so far."""

    word: str
    count: int


@dataclass(slots=True)
class Line:
    """A line of text, in a class that is cheap to make."""

    text: str


@dataclass(slots=True)
class Token:
    """A word, in a class that is cheap to make: a frozen one takes three times as long."""

    word: str


def split(_: Tally, sentence: Sentence, emit: Emit[Word]) -> None:
    for word in sentence.text.split():
        emit(Word(word))


def count(counts: Tally, word: Word, emit: Emit[WordCount]) -> None:
    met = counts[word.word] = counts.get(word.word, 0) + 1
    emit(WordCount(word.word, met))


def report(counts: Tally, counted: WordCount, _: Emit[WordCount]) -> None:
    counts[counted.word] = counted.count


def split_line(_: Tally, line: Line, emit: Emit[Token]) -> None:
    for word in line.text.split():
        emit(Token(word))


def count_token(counts: Tally, token: Token, _: Emit[Token]) -> None:
    counts[token.word] = counts.get(token.word, 0) + 1


def fold_word(met: int | None, word: Word) -> tuple[int, WordCount]:
    met = (met or 0) + 1
    return met, WordCount(word.word, met)


def fold_token(met: int | None, token: Token) -> tuple[int, tuple[str, int]]:
    met = (met or 0) + 1
    return met, (token.word, met)


def plain_words(lines: Iterable[str]) -> Tally:
    counts: Tally = {}
    reported: Tally = {}
    for line in lines:
        for text in Sentence(line).text.split():
            word = Word(text)
            met = counts[word.word] = counts.get(word.word, 0) + 1
            counted = WordCount(word.word, met)
            reported[counted.word] = counted.count
    return reported


def plain_tokens(lines: Iterable[str]) -> Tally:
    counts: Tally = {}
    for line in lines:
        for text in Line(line).text.split():
            token = Token(text)
            counts[token.word] = counts.get(token.word, 0) + 1
    return counts


def _text(size: int) -> list[str]:
    return list(python_docs()) * size


def _expected(lines: Sequence[str]) -> Tally:
    return dict(Counter(word for line in lines for word in line.split()))


_SHARES = {"streamz": 0.2, "reactivex": 0.05, "threads with queues": 0.5}

WORD_JOBS = (
    Job(
        name="words",
        title="Word count with the README's records and functions: frozen records, each count emitted to a report",
        items=_text,
        make=Sentence,
        steps=(
            Step("split", split, (Sentence,)),
            Step("count", count, (Word,), key="word", fold=fold_word),
            Step("report", report, (WordCount,), key="word"),
        ),
        plain=plain_words,
        expected=_expected,
        unit="word",
        size=16,
        shares=_SHARES,
    ),
    Job(
        name="lean",
        title="Word count, lean: records that are cheap to make, nothing after the count",
        items=_text,
        make=Line,
        steps=(
            Step("split", split_line, (Line,)),
            Step("count", count_token, (Token,), key="word", fold=fold_token),
        ),
        plain=plain_tokens,
        expected=_expected,
        unit="word",
        size=24,
        shares=_SHARES,
    ),
)
