"""A new topology file and its test, to start from."""

from __future__ import annotations

import keyword
import sys
from pathlib import Path

from fsshelter_py.cli.problem import Problem

__all__ = ["write"]

_TOPOLOGY = '''"""Counts words: a start to make your own topology of.

Run it:   fsshelter run {module}.py
Test it:  python -m pytest test_{module}.py
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fsshelter_py import Bolt, Emit, Group, Shuffle, Spout, Subscriptions, TaskContext, topology


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


SENTENCES = ("the cow jumped over the moon", "the man went to the store and bought some candy")


def sentences_of(ctx: TaskContext) -> Iterable[Sentence]:
    """The input: read a file, a queue or a table here."""
    return (Sentence(text) for text in SENTENCES)


def split(sentence: Sentence, emit: Emit[Word]) -> None:
    for word in sentence.text.split():
        emit(Word(word))


def count(counts: Counter[str], word: Word, emit: Emit[WordCount]) -> None:
    counts[word.word] += 1
    emit(WordCount(word.word, counts[word.word]))


def show(total: WordCount, emit: Emit[None]) -> None:
    print(f"{{total.word}}: {{total.count}}")


@topology("{name}")
def {module}() -> Subscriptions:
    sentences = Spout.replaying(sentences_of, max_attempts=3)
    splitter = Bolt.run(split)
    counter = Bolt.run(count, make_args=lambda ctx: Counter[str]()).with_parallelism(2)
    report = Bolt.run(show)

    yield sentences >> splitter | Shuffle.on(Sentence)
    yield splitter >> counter | Group.by(Word, "word")
    yield counter >> report | Shuffle.on(WordCount)
'''

_TEST = '''"""Tests of {module}.py; run them with `python -m pytest`."""

from collections import Counter

from fsshelter_py.testing import run_to_end

import {module}


def test_every_word_is_counted(capsys):
    """The last count of each word is how often it occurs."""
    summary = run_to_end({module}.{module}())

    lines = [line.split(": ") for line in capsys.readouterr().out.splitlines()]
    counts = {{word: max(int(n) for w, n in lines if w == word) for word, _ in lines}}
    assert counts == Counter(word for text in {module}.SENTENCES for word in text.split())
    assert summary.ok
'''


def write(name: str, folder: Path) -> tuple[Path, Path]:
    """Write ``NAME.py`` and ``test_NAME.py``; dashes become underscores. Raises ``Problem`` and overwrites nothing."""
    module = name.removesuffix(".py").replace("-", "_")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise Problem(f"{name!r} is no name for a Python file; use letters, digits and underscores, as in word_count")
    if module in sys.stdlib_module_names or module == "fsshelter_py":
        raise Problem(f"{module}.py would hide the module {module!r} from every program started here; use another name")
    files = folder / f"{module}.py", folder / f"test_{module}.py"
    for file in files:
        if file.exists():
            raise Problem(f"{file.name} exists already; use another name, or remove it first")
    try:
        for file, template in zip(files, (_TOPOLOGY, _TEST), strict=True):
            with file.open("x", encoding="utf-8") as opened:
                opened.write(template.format(module=module, name=module.replace("_", "-")))
    except OSError as error:
        raise Problem(f"cannot write into {folder}: {error.strerror}", cause=error) from error
    return files
