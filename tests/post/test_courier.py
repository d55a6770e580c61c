"""What an executor's courier gathers goes out once a turn, to each address."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fsshelter_py.post import Courier, PostOffice


def test_calls_of_a_turn_are_one_letter_to_each_address() -> None:
    """In the order taken; what is taken afterwards goes with the next."""
    with TemporaryDirectory(dir="/tmp") as directory:
        here, there = PostOffice(Path(directory), 0), PostOffice(Path(directory), 1)
        letters: list[list[Any]] = []
        read = there.read

        def noting(letter: bytes) -> list[Any]:
            letters.append(list(read(letter)))
            return letters[-1]

        there.read = noting  # type: ignore[method-assign]
        courier = Courier(here, "0-3")
        courier.leave()
        courier.take("1", "first", 1, [2])
        courier.take("1", "second")
        courier.leave()
        courier.leave()
        courier.take("1", "end")
        courier.leave()
        called: list[Any] = []
        there.serve(
            {"first": lambda *a: called.append(a), "second": lambda: called.append(()), "end": there.end}, called.append
        )
        assert letters == [[("first", 1, [2]), ("second",)], [("end",)]]
        assert called == [(1, [2]), ()]
        here.close()
        there.close()
