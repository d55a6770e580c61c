"""The parameters of a topology function from ``--set``."""

from pathlib import Path
from typing import Any

import pytest

from fsshelter_py.cli.parameters import bind, pairs
from fsshelter_py.cli.problem import Problem


def words(path: Path, limit: int = 3, tags: tuple[str, ...] = (), *, strict: bool = False) -> Any:
    """A function with parameters such as a topology has."""
    return path, limit, tags, strict


def call(*settings: str) -> Any:
    """Bind the settings and call the function."""
    bound = bind(words, pairs("--set", settings))
    return words(*bound.args, **bound.kwargs)


def test_parameters_are_converted_by_their_annotations_in_any_order() -> None:
    """Keyword-only ones too; what is not given keeps its default."""
    assert call("strict=yes", "tags=a", "tags=b", "path=x=y") == (Path("x=y"), 3, ("a", "b"), True)


def test_every_wrong_setting_is_named_at_once() -> None:
    """The unknown one with the nearest name, the wrong value, the missing one, and what there is."""
    with pytest.raises(Problem) as caught:
        call("limt=1", "limit=many")

    assert str(caught.value).splitlines() == [
        "the topology's parameters are wrong:",
        "  - --set limt: the topology has no parameter 'limt'; did you mean 'limit'?",
        "  - --set limit: expected a whole number, got 'many'",
        "  - parameter 'path' (a path) has no default: give --set path=...",
        "it takes path: a path, limit: a whole number = 3, tags: a list of text = (), strict: true or false = False",
    ]


def test_a_value_given_twice_is_refused_where_one_is_taken() -> None:
    """Rather than one of them silently winning."""
    with pytest.raises(Problem, match="--set limit: given 2 times, but it takes one value: a whole number"):
        call("path=x", "limit=1", "limit=2")


@pytest.mark.parametrize("setting", ["path", "=x", " =x"])
def test_a_setting_without_key_or_value_is_refused(setting: str) -> None:
    """The message shows the form."""
    with pytest.raises(Problem, match="--set takes key=value"):
        call(setting)


def test_without_an_annotation_the_default_tells_the_type() -> None:
    """And without a default it is text."""

    def loose(name, count=2, nothing=None):  # type: ignore[no-untyped-def]
        return name, count, nothing

    bound = bind(loose, pairs("--set", ["name=1", "count=3", "nothing=4"]))
    assert bound.arguments == {"name": "1", "count": 3, "nothing": "4"}


def test_unresolvable_annotations_do_not_get_in_the_way() -> None:
    """A name that only a type checker imports leaves the default to tell the type."""

    def lazy(count: "Missing" = 2) -> Any:  # type: ignore[name-defined] # noqa: F821
        return count

    bound = bind(lazy, [("count", "3")])
    assert lazy(*bound.args, **bound.kwargs) == 3


def test_keyword_parameters_take_any_name() -> None:
    """``**options`` is converted by its annotation."""

    def opened(**options: int) -> Any:
        return options

    bound = bind(opened, [("a", "1"), ("b", "2")])
    assert opened(*bound.args, **bound.kwargs) == {"a": 1, "b": 2}


def test_a_parameter_of_a_type_that_text_cannot_give_says_what_to_do() -> None:
    """Only where it is set: with a default it does not matter."""

    def odd(lookup: dict[str, int] | None = None) -> Any:
        return lookup

    bound = bind(odd, [])
    assert odd(*bound.args, **bound.kwargs) is None
    with pytest.raises(Problem, match="--set lookup: "):
        bind(odd, [("lookup", "x")])
