"""The hash of a grouping key: the same for equal keys in every process, on every run, on every machine.

A key is written as bytes and the bytes are summed by CRC-32. What is written follows Python's equality, not the type:
``1``, ``1.0``, ``True`` and ``Decimal(1)`` are one key, so are two aware datetimes of one moment. Each part of a key is
preceded by a tag and carries its length, so that ``("a", "bc")`` and ``("ab", "c")`` are written differently.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import numbers
import types
import uuid
import zlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fsshelter_py.errors import GroupingError

__all__ = ["stable_hash"]

_PRIME = (1 << 61) - 1
"""Numbers are reduced by this prime, as in Python's own numeric hash: a fraction is its numerator times the inverse of
its denominator. So equal numbers of all types agree, at a bounded cost even for ``Decimal("1e999999")``."""


def stable_hash(key: Any) -> int:
    """The 32-bit hash of a key; equal keys have equal hashes. Raises ``GroupingError`` for a key that has none.

    Keys are ``None``, numbers, ``str``, ``bytes``, enum members, dates and times, ``UUID``, and tuples, frozensets and
    immutable records (dataclasses, NamedTuples, attrs classes, msgspec Structs) of such.

    >>> stable_hash(1) == stable_hash(1.0) == stable_hash(True)
    True
    >>> stable_hash(["a"])
    Traceback (most recent call last):
    ...
    fsshelter_py.errors.GroupingError: a list has no stable hash, for it can change: make it a tuple
    """
    return zlib.crc32(_encode(key))


def _encode(key: Any) -> bytes:
    encoder = _BY_TYPE.get(type(key))
    return _by_base(key) if encoder is None else encoder(key)


def _by_base(key: Any) -> bytes:
    for base, encoder in _BY_BASE:
        if isinstance(key, base):
            if _redefines_equality(type(key), base):
                raise _own_equality(key)
            return encoder(key)
    return _record(key)


def _integer(number: int, denominator: int = 1) -> bytes:
    below = denominator % _PRIME
    if not below:
        return b"n/0"
    residue = number % _PRIME if below == 1 else number * pow(below, -1, _PRIME) % _PRIME
    return b"n" + residue.to_bytes(8, "big")


def _float(number: float) -> bytes:
    if math.isnan(number):
        return b"nan"
    if math.isinf(number):
        return b"n+inf" if number > 0 else b"n-inf"
    return _integer(*number.as_integer_ratio())


def _decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        if number.is_snan():
            raise GroupingError("a signaling NaN has no stable hash, for it cannot be compared: use Decimal('NaN')")
        return _float(float(number))
    residue = 0
    for digit in digits:
        residue = (residue * 10 + digit) % _PRIME
    residue *= pow(10, exponent, _PRIME)
    return _integer(-residue if sign else residue)


def _complex(number: complex) -> bytes:
    return _float(number.real) if number.imag == 0 else b"c" + _float(number.real) + _float(number.imag)


def _str(text: str) -> bytes:
    # Lone surrogates are legal in a str, and so in a key.
    return _sized(b"s", str.encode(text, "utf-8", "surrogatepass"))


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + len(data).to_bytes(8, "big") + data


def _sequence(tag: bytes, parts: Iterable[bytes]) -> bytes:
    listed = list(parts)
    return tag + len(listed).to_bytes(8, "big") + b"".join(listed)


def _tuple(key: tuple[Any, ...]) -> bytes:
    return _sequence(b"(", map(_encode, key))


def _frozenset(key: frozenset[Any]) -> bytes:
    return _sequence(b"{", sorted(map(_encode, key)))


def _datetime(key: dt.datetime) -> bytes:
    return _moment(b"D", key, key.toordinal())


def _time(key: dt.time) -> bytes:
    return _moment(b"T", key, 0)


def _moment(tag: bytes, key: dt.datetime | dt.time, days: int) -> bytes:
    """Microseconds, in UTC where it is aware. ``fold`` is left out: datetimes that differ in it alone are equal."""
    seconds = ((days * 24 + key.hour) * 60 + key.minute) * 60 + key.second
    micros = seconds * 1_000_000 + key.microsecond
    offset = key.replace(fold=0).utcoffset()
    return tag + (b"-" + _integer(micros) if offset is None else b"z" + _integer(micros - _micros(offset)))


def _micros(key: dt.timedelta) -> int:
    return (key.days * 86_400 + key.seconds) * 1_000_000 + key.microseconds


def _enum(key: enum.Enum) -> bytes:
    # A combination of flags need not have a name; members of other enums may have values of no stable hash.
    return _tagged_by_class(key, [_encode(key._value_ if isinstance(key, enum.Flag) else key._name_)])


def _record(key: Any) -> bytes:
    cls = type(key)
    values = _compared_values(key)
    if values is None:
        raise GroupingError(_advice(cls))
    if _redefines_equality(cls):
        raise _own_equality(key)
    return _tagged_by_class(key, map(_encode, values))


def _compared_values(key: Any) -> list[Any] | None:
    """The values that make two records of one class equal; ``None`` for what is no record or can change."""
    cls = type(key)
    if hasattr(cls, "__struct_config__"):
        config = cls.__struct_config__
        return [getattr(key, name) for name in cls.__struct_fields__] if config.frozen and config.eq else None
    if cls.__hash__ is None:
        return None
    # A subclass that has no equality of its own is compared by the fields of the class that has.
    comparing = next(base for base in cls.__mro__ if "__eq__" in base.__dict__)
    if hasattr(comparing, "__attrs_attrs__"):
        compared = [(getattr(key, a.name), a.eq_key) for a in comparing.__attrs_attrs__ if a.eq]
        return [value if eq_key is None else eq_key(value) for value, eq_key in compared]
    if dataclasses.is_dataclass(comparing):
        return [getattr(key, field.name) for field in dataclasses.fields(comparing) if field.compare]
    return None


def _tagged_by_class(key: Any, parts: Iterable[bytes]) -> bytes:
    # Without the module: a class of a script is in ``__main__`` here and in a module of another name elsewhere.
    return b"r" + _str(type(key).__qualname__) + _sequence(b"(", parts)


def _redefines_equality(cls: type[Any], base: type[Any] = object) -> bool:
    """Whether a class has an ``__eq__`` of its user's own: then what is written here would not follow it."""
    own: Any = cls.__eq__
    if not isinstance(own, types.FunctionType) or own is base.__eq__:
        return False
    # Where generated code says it is from: dataclasses and attrs write no file.
    return own.__code__.co_filename != "<string>" and not own.__code__.co_filename.startswith("<attrs generated")


def _own_equality(key: Any) -> GroupingError:
    return GroupingError(
        f"a {type(key).__qualname__} has no stable hash, for it defines its own __eq__: "
        "make the key of the values that it compares"
    )


def _advice(cls: type[Any]) -> str:
    name = cls.__qualname__
    for mutable, instead in ((list, "tuple"), (set, "frozenset"), (bytearray, "bytes")):
        if issubclass(cls, mutable):
            return f"a {name} has no stable hash, for it can change: make it a {instead}"
    if issubclass(cls, dict):
        return f"a {name} has no stable hash, for it can change: make it a frozenset of its items"
    if any(hasattr(cls, mark) for mark in ("__struct_config__", "__attrs_attrs__", "__dataclass_fields__")):
        return (
            f"a {name} has no stable hash, for it can change or is compared by identity: "
            "declare the class with frozen=True and eq=True"
        )
    return (
        f"a {name} has no stable hash: make the key of None, numbers, str, bytes, enums, dates, times, UUIDs, "
        "or of tuples, frozensets and frozen records of these"
    )


_BY_BASE: tuple[tuple[type[Any], Callable[[Any], bytes]], ...] = (
    # An enum of strings or numbers equals its value, so it is found under these before it is found as an enum.
    (str, _str),
    (bytes, lambda key: _sized(b"b", bytes(key))),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (Fraction, lambda key: _integer(key.numerator, key.denominator)),
    (complex, _complex),
    (tuple, _tuple),
    (frozenset, _frozenset),
    (dt.datetime, _datetime),
    (dt.date, lambda key: b"o" + _integer(key.toordinal())),
    (dt.time, _time),
    (dt.timedelta, lambda key: b"d" + _integer(_micros(key))),
    (uuid.UUID, lambda key: b"u" + key.bytes),
    (enum.Enum, _enum),
    (type(None), lambda _: b"0"),
    # The numbers of other libraries, such as numpy's scalars, which equal Python's.
    (numbers.Rational, lambda key: _integer(int(key.numerator), int(key.denominator))),
    (numbers.Real, lambda key: _float(float(key))),
    (numbers.Complex, lambda key: _complex(complex(key))),
)
_BY_TYPE: dict[type[Any], Callable[[Any], bytes]] = {**dict(_BY_BASE), bool: _integer}
