"""The rotating map, by itself and against a plain model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.ack import RotatingMap
from fsshelter_py.errors import ConfError


def test_entry_expires_with_as_many_rotations_as_buckets() -> None:
    """What was put is there for buckets - 1 rotations and comes out with the next."""
    seen: RotatingMap[str, int] = RotatingMap(buckets=3)
    seen.put("a", 1)
    assert [seen.rotate() for _ in range(4)] == [{}, {}, {"a": 1}, {}]


def test_put_again_starts_the_time_anew() -> None:
    """A second put moves the key to the youngest bucket, with its new value."""
    seen: RotatingMap[str, int] = RotatingMap(buckets=2)
    seen.put("a", 1)
    seen.rotate()
    seen.put("a", 2)
    assert len(seen) == 1
    assert [seen.rotate() for _ in range(2)] == [{}, {"a": 2}]


def test_get_leaves_the_time_alone() -> None:
    """Reading an entry does not keep it."""
    seen: RotatingMap[str, int] = RotatingMap(buckets=2)
    seen.put("a", 1)
    seen.rotate()
    assert seen.get("a") == 1
    assert seen.rotate() == {"a": 1}


def test_missing_key_gives_the_default() -> None:
    """Neither get nor remove raises for a key that is not there."""
    seen: RotatingMap[str, int] = RotatingMap()
    assert seen.get("a") is None
    assert seen.get("a", 5) == 5
    assert seen.remove("a") is None
    assert seen.remove("a", 5) == 5


def test_a_value_of_none_is_a_value() -> None:
    """A key is there by having been put, whatever its value."""
    seen: RotatingMap[str, None] = RotatingMap()
    seen.put("a", None)
    assert "a" in seen
    assert seen.get("a", "default") is None
    assert seen.remove("a", "default") is None
    assert "a" not in seen


@pytest.mark.parametrize("buckets", [1, 0, -1])
def test_fewer_than_two_buckets_are_refused(buckets: int) -> None:
    """One bucket could not keep an entry for even one period."""
    with pytest.raises(ConfError, match="expected 2 or more"):
        RotatingMap(buckets)


_keys = st.integers(0, 5)
_steps = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "rotate", "get"]), _keys, st.integers(0, 99)),
    max_size=60,
)


@given(buckets=st.integers(2, 5), steps=_steps)
def test_behaves_as_a_dict_of_ages(buckets: int, steps: list[tuple[str, int, int]]) -> None:
    """Any sequence of calls answers as a dict whose entries count the rotations they have lived through."""
    seen: RotatingMap[int, int] = RotatingMap(buckets)
    model: dict[int, tuple[int, int]] = {}  # key -> value, rotations since it was put
    for call, key, value in steps:
        match call:
            case "put":
                seen.put(key, value)
                model[key] = value, 0
            case "remove":
                assert seen.remove(key, -1) == model.pop(key, (-1, 0))[0]
            case "get":
                assert seen.get(key, -1) == model.get(key, (-1, 0))[0]
            case _:
                aged = {k: (v, age + 1) for k, (v, age) in model.items()}
                assert seen.rotate() == {k: v for k, (v, age) in aged.items() if age == buckets}
                model = {k: entry for k, entry in aged.items() if entry[1] < buckets}
        assert len(seen) == len(model)
        assert {k for k in range(6) if k in seen} == set(model)
