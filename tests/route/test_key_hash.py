"""The stable key hash: it follows Python's equality, and nothing else."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import os
import subprocess
import sys
import uuid
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.errors import GroupingError
from fsshelter_py.route import stable_hash


class Colour(enum.Enum):
    RED = "red"
    OPAQUE = bytearray(b"a value of no stable hash")


class Name(str):
    pass


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    THE = "the"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Data:
    a: Any
    b: Any = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Inheriting(Data):
    c: int = 0


@attrs.frozen
class Attrs:
    a: Any
    b: str = attrs.field(default="", eq=str.lower)
    c: Any = attrs.field(default=None, eq=False)


class Struct(msgspec.Struct, frozen=True):
    a: Any


NAN, OTHER_NAN = math.nan, float("nan")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
UTC = dt.UTC
NOON = dt.datetime(2026, 7, 1, 12, 0, 0, 7, tzinfo=UTC)


def equal_keys() -> list[tuple[Any, ...]]:
    return [
        (1, 1.0, True, Decimal(1), Decimal("1.00"), Fraction(1), complex(1, 0), Level.LOW),
        (0, 0.0, -0.0, False, Decimal("-0"), complex(0, -0.0)),
        (-0.5, Fraction(-1, 2), Decimal("-0.5"), Decimal("-5e-1")),
        (0.1, Decimal.from_float(0.1), Fraction(0.1)),
        (10**400, Decimal(10) ** 400, Fraction(10**400)),
        (2**1000, 2.0**1000),
        (math.inf, Decimal("Infinity")),
        (-math.inf, Decimal("-Infinity")),
        ("the", Name("the"), Word.THE),
        ((1, "a"), (True, Name("a")), Pair(1.0, "a")),
        (frozenset({1, "a"}), frozenset({"a", 1.0})),
        (NOON, NOON.astimezone(BERLIN), NOON.astimezone(dt.timezone(dt.timedelta(hours=-9, minutes=-30)))),
        (
            dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=0),
            dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
        ),
        (dt.time(12, tzinfo=UTC), dt.time(14, tzinfo=dt.timezone(dt.timedelta(hours=2)))),
        (dt.timedelta(days=1), dt.timedelta(hours=24)),
        (uuid.UUID(int=7), uuid.UUID(int=7)),
        (Data((1,), "ignored"), Data((1.0,), "too")),
        (Inheriting(1, c=2), Inheriting(1, c=3)),
        (Attrs(1, "X", "ignored"), Attrs(1.0, "x")),
        (Struct(1), Struct(True)),
        (Access.READ | Access.WRITE, Access(3)),
    ]


@pytest.mark.parametrize("keys", equal_keys(), ids=lambda keys: repr(keys[0])[:40])
def test_equal_keys_hash_alike(keys: tuple[Any, ...]) -> None:
    """Keys that Python takes for equal have one hash, whatever their types."""
    assert all(keys[0] == key for key in keys)
    assert len({stable_hash(key) for key in keys}) == 1


def test_nans_hash_alike() -> None:
    """Two NaNs are one key although they do not equal each other."""
    assert len({stable_hash(key) for key in (NAN, OTHER_NAN, Decimal("NaN"), Decimal("-NaN"), complex(NAN, 0))}) == 1


def test_different_keys_hash_apart() -> None:
    """Keys that differ in type, in structure or in one field are written differently."""
    keys = [group[0] for group in equal_keys()]
    keys += [NAN, None, "", b"", (), frozenset(), Colour.RED, Colour.OPAQUE, "red", b"the", "None", "1", b"1"]
    keys += [("a", "bc"), ("ab", "c"), ("abc",), (("a",), "bc"), ("a", ("bc",)), ("abc", ""), "\ud800", 1j, (1, 0)]
    keys += [dt.date(1970, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=UTC), dt.time(0)]
    keys += [dt.time(0, tzinfo=UTC), dt.timedelta(0), Pair(1, 2), Data(1), Data(2), Attrs(1), Struct(2)]
    keys += [dt.datetime.max, dt.datetime.min, -1, 2, -(2**40), 256, Access(0), Access.READ]
    assert len({stable_hash(key) for key in keys}) == len(keys)


numbers = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.decimals(allow_nan=False), st.fractions(), st.complex_numbers()
)
scalars = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from((0.0, 1.0, True, 0.5)), st.text("ab", max_size=3))
keys = st.recursive(
    scalars | st.binary(max_size=2) | st.dates() | st.times() | st.timedeltas(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)


@given(numbers, numbers)
def test_hash_follows_equality_of_numbers(left: Any, right: Any) -> None:
    """Numbers of any two types hash alike when they are equal, and each equals itself in every exact form."""
    if left == right:
        assert stable_hash(left) == stable_hash(right)
    if isinstance(left, float) and math.isfinite(left):
        assert stable_hash(left) == stable_hash(Fraction(left)) == stable_hash(Decimal(left))


@given(keys, keys)
def test_hash_follows_equality(left: Any, right: Any) -> None:
    """Keys hash alike when they are equal and, CRC-32 having few collisions, apart when they are not."""
    assert (stable_hash(left) == stable_hash(right)) == (left == right)


@given(st.datetimes(timezones=st.timezones()), st.timezones())
def test_aware_datetimes_of_one_moment_hash_alike(moment: dt.datetime, zone: dt.tzinfo) -> None:
    """The zone in which a moment is told makes no difference where Python finds the two equal."""
    try:
        told = moment.astimezone(zone)
    except OverflowError:
        return
    if told == moment:
        assert stable_hash(told) == stable_hash(moment)


class Reversed(str):
    def __eq__(self, other: object) -> bool:
        return str.__eq__(self[::-1], str(other))

    __hash__ = str.__hash__


@dataclasses.dataclass(frozen=True)
class Caseless:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caseless) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


@dataclasses.dataclass
class Mutable:
    a: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class Identity:
    a: int = 0


@attrs.define
class MutableAttrs:
    a: int = 0


class MutableStruct(msgspec.Struct):
    a: int = 0


class Plain:
    pass


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ([1], "a list .* make it a tuple"),
        ({1}, "a set .* make it a frozenset"),
        ({"a": 1}, "a dict .* frozenset of its items"),
        (bytearray(b"a"), "a bytearray .* make it a bytes"),
        (("a", [1]), "a list .* make it a tuple"),
        (Data({}), "a dict "),
        (Mutable(), "a Mutable .* frozen=True"),
        (Identity(), "an? Identity .* eq=True"),
        (MutableAttrs(), "a MutableAttrs .* frozen=True"),
        (MutableStruct(), "a MutableStruct .* frozen=True"),
        (Plain(), "a .*Plain .* make the key of None, numbers"),
        (Plain, "a type "),
        (Reversed("ab"), "a Reversed .* its own __eq__"),
        (Caseless("a"), "a Caseless .* its own __eq__"),
        (Decimal("sNaN"), "signaling NaN"),
    ],
)
def test_key_of_no_stable_hash_is_an_error(key: Any, message: str) -> None:
    """What can change, is compared by identity or by a rule of its own is refused, with what to do instead."""
    with pytest.raises(GroupingError, match=message):
        stable_hash(key)


@pytest.mark.parametrize("number", [Decimal("1e999999999999999999"), Decimal("1e-999999"), Decimal("7" * 6000)])
def test_extreme_decimals_have_a_hash(number: Decimal) -> None:
    """A decimal too large to be written out as an integer is hashed at once."""
    assert 0 <= stable_hash(number) < 2**32


def test_hash_is_fixed() -> None:
    """The values themselves are part of the contract: state may be kept by task between runs."""
    assert [stable_hash(key) for key in (None, 1, "a", b"a", ("a", 1), 0.5)] == [
        4108050209,
        95387150,
        3713676898,
        355916980,
        3057366940,
        236158899,
    ]


PRINT_HASHES = """
import datetime as dt, uuid
from fsshelter_py.route import stable_hash
keys = [None, 1, "a", "é", b"a", 2.5, ("a", 1, None), frozenset("abcdefgh"), dt.date(2026, 1, 1), uuid.UUID(int=1)]
print([stable_hash(key) for key in keys])
"""


def test_hash_is_the_same_in_every_process() -> None:
    """Processes with other seeds for the builtin hash agree."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_HASHES],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
