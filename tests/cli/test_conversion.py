"""Text converted by annotations."""

import collections.abc
import enum
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.cli.conversion import UnsupportedError, collects, convert, expected

UserId = NewType("UserId", int)


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("x=1", str, "x=1"),
        ("7", int, 7),
        ("0.5", float, 0.5),
        ("1.10", Decimal, Decimal("1.10")),
        ("TRUE", bool, True),
        ("off", bool, False),
        ("a/b", Path, Path("a/b")),
        ("none", int | None, None),
        ("3", int | None, 3),
        ("x", Optional[str], "x"),  # noqa: UP045 - users write it so
        ("3", int | str, 3),
        ("three", int | str, "three"),
        ("3", str | int, 3),
        ("green", Colour, Colour.GREEN),
        ("r", Colour, Colour.RED),
        ("2", Literal[1, 2], 2),
        ("fast", Literal["fast", "slow"], "fast"),
        ("7", UserId, 7),
        ("7", Annotated[int, "how many"], 7),
        ("any", Any, "any"),
    ],
)
def test_one_text_becomes_a_value_of_the_type(text: str, annotation: Any, value: object) -> None:
    """Every kind of annotation that one text can fill."""
    converted = convert([text], annotation)

    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("texts", "annotation", "value"),
    [
        (["1,2", "3"], list[int], [1, 2, 3]),
        (["a", "b"], list, ["a", "b"]),
        ([""], list[str], []),
        (["1,2"], tuple[int, ...], (1, 2)),
        (["1,x"], tuple[int, str], (1, "x")),
        (["1,1"], set[int], {1}),
        (["1,2"], collections.abc.Sequence[float], [1.0, 2.0]),
        (["1", "2"], list[int] | None, [1, 2]),
        (["none"], list[int] | None, None),
    ],
)
def test_several_texts_become_a_collection(texts: list[str], annotation: Any, value: object) -> None:
    """By commas, by repetition, by both."""
    assert collects(annotation)
    assert convert(texts, annotation) == value


@pytest.mark.parametrize(
    ("texts", "annotation", "message"),
    [
        (["x"], int, "expected a whole number, got 'x'"),
        (["1.5"], int, "expected a whole number, got '1.5'"),
        (["maybe"], bool, "expected true or false, got 'maybe'"),
        (["blue"], Colour, "expected one of RED, GREEN, got 'blue'"),
        (["3"], Literal[1, 2], "expected one of 1, 2, got '3'"),
        (["x"], int | None, "expected a whole number or none, got 'x'"),
        (["1,x"], list[int], "expected a whole number, got 'x'"),
        (["1"], tuple[int, str], "expected 2 values with commas between: a whole number, text, got 1: '1'"),
    ],
)
def test_what_does_not_fit_says_expected_and_found(texts: list[str], annotation: Any, message: str) -> None:
    """In words, not in the names of types."""
    with pytest.raises(ValueError, match="expected") as caught:
        convert(texts, annotation)
    assert str(caught.value) == message


def test_a_type_that_no_text_gives_is_told_apart_from_a_wrong_text() -> None:
    """A mapping or a class of the user's cannot be given, whatever the text."""
    with pytest.raises(UnsupportedError, match="Colours cannot be given as text"):
        convert(["x"], type("Colours", (), {}))


def test_expectations_are_in_words() -> None:
    """As error messages and the list of parameters show them."""
    assert expected(list[int]) == "a list of whole numbers"
    assert expected(Path | None) == "a path or none"


@given(st.lists(st.integers()))
def test_a_list_of_numbers_comes_back_as_it_was_written(numbers: list[int]) -> None:
    """Joined with commas or given one by one."""
    texts = list(map(str, numbers))
    assert convert([",".join(texts)], list[int]) == numbers
    assert convert(texts, list[int]) == numbers
