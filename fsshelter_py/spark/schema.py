"""Fields to columns: the Arrow schema of a tuple class, and tuples of it as an Arrow table.

A naive ``datetime`` is taken for UTC; a ``Decimal`` becomes ``decimal(38, 18)``, Spark's widest with a fraction.
"""

from __future__ import annotations

import datetime
import types
import typing
from collections.abc import Callable, Collection, Mapping, MutableMapping, MutableSequence, Sequence, Set
from decimal import Decimal
from operator import attrgetter
from typing import Any, TypeAlias

import pyarrow as pa

from fsshelter_py.errors import EmitError
from fsshelter_py.model.schema import annotations_of, is_tuple_class, members_of
from fsshelter_py.spark.fitting import parameters_of

__all__ = ["TableMaker"]

Converter: TypeAlias = Callable[[Any], Any] | None
"""What a value, never None, becomes for Arrow; None: it stays as it is."""

_PLAIN: dict[Any, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    Decimal: pa.decimal128(38, 18),
    datetime.datetime: pa.timestamp("us", tz="UTC"),
    datetime.date: pa.date32(),
    datetime.time: pa.time64("us"),
    datetime.timedelta: pa.duration("us"),
}
_LISTS = (list, tuple, set, frozenset, Sequence, MutableSequence, Collection, Set)
_MAPPINGS = (dict, Mapping, MutableMapping)


class _UnfitError(Exception):
    """A field that no column can hold; the message says which and why."""


class TableMaker:
    """Makes Arrow tables of the tuples of one class. schema: a column a field, by its annotation."""

    def __init__(self, cls: type[Any]) -> None:
        """Raises ``EmitError`` with every field that no column can hold."""
        if not is_tuple_class(cls):
            raise EmitError(
                f"spark_sink got a {cls.__name__}: expected a dataclass, NamedTuple, attrs class or msgspec Struct"
            )
        fields, problems = _fields(cls, set())
        if problems:
            lines = "".join(f"\n  - {problem}" for problem in problems)
            raise EmitError(f"spark_sink cannot make columns of {cls.__name__}:{lines}")
        self.schema = pa.schema([field for field, _, _ in fields])
        self._columns = [(attrgetter(name), field, convert) for field, name, convert in fields]

    def table(self, tuples: Sequence[Any]) -> pa.Table:
        """A row a tuple. Raises ``EmitError`` for a value that is not what its annotation says."""
        arrays = []
        for get, field, convert in self._columns:
            values: list[Any] = list(map(get, tuples))
            if convert is not None:
                values = [None if value is None else convert(value) for value in values]
            try:
                arrays.append(pa.array(values, field.type))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise EmitError(f"spark_sink: {field.name!r} of {type(tuples[0]).__name__}: {error}") from error
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _fields(cls: type[Any], within: set[type[Any]]) -> tuple[list[tuple[pa.Field, str, Converter]], list[str]]:
    """Column, attribute and converter of each field; and what is wrong with the others."""
    found: list[tuple[pa.Field, str, Converter]] = []
    problems: list[str] = []
    hints = annotations_of(cls)
    for name in parameters_of(cls):
        try:
            of, convert = _column(hints.get(name, Any), f"{cls.__name__}.{name}", within | {cls})
            found.append((pa.field(name, of), name, convert))
        except _UnfitError as error:
            problems.append(str(error))
    return found, problems


def _column(annotation: Any, field: str, within: set[type[Any]]) -> tuple[pa.DataType, Converter]:
    members = [m for m in members_of(annotation) if m is not None and m is not types.NoneType]
    while len(members) == 1 and hasattr(members[0], "__supertype__"):
        members = [members[0].__supertype__]
    if len(members) != 1:
        raise _UnfitError(f"{field} is {annotation}: a column has one type, and None")
    wanted = members[0]
    origin, args = typing.get_origin(wanted) or wanted, typing.get_args(wanted)
    plain = _PLAIN.get(origin)
    if plain is not None:
        return plain, None
    if origin in _LISTS:
        items = [arg for arg in args if arg is not Ellipsis]
        if len(items) != 1:
            raise _UnfitError(f"{field} is {wanted}: say of what, as in list[int]; a column's items have one type")
        item, convert = _column(items[0], f"{field}[]", within)
        return pa.list_(item), _list_converter(convert)
    if origin in _MAPPINGS:
        if len(args) != 2:
            raise _UnfitError(f"{field} is {wanted}: say of what, as in dict[str, int]")
        key, convert_key = _column(args[0], f"{field}.key", within)
        value, convert_value = _column(args[1], f"{field}.value", within)
        return pa.map_(key, value), _map_converter(convert_key, convert_value)
    if is_tuple_class(origin):
        if origin in within:
            raise _UnfitError(f"{field} is of the class {origin.__name__} that holds it, which no column can be")
        inner, problems = _fields(origin, within)
        if problems:
            raise _UnfitError("; ".join(problems))
        return pa.struct([f for f, _, _ in inner]), _struct_converter([(name, c) for _, name, c in inner])
    raise _UnfitError(f"{field} is {getattr(wanted, '__name__', wanted)}, which Spark has no type for")


def _list_converter(item: Converter) -> Converter:
    if item is None:
        return list
    return lambda values: [None if value is None else item(value) for value in values]


def _map_converter(key: Converter, value: Converter) -> Converter:
    def pairs(mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        return [
            (k if key is None else key(k), v if value is None or v is None else value(v)) for k, v in mapping.items()
        ]

    return pairs


def _struct_converter(parts: Sequence[tuple[str, Converter]]) -> Converter:
    def to_dict(instance: Any) -> dict[str, Any]:
        values = ((name, convert, getattr(instance, name)) for name, convert in parts)
        return {name: v if convert is None or v is None else convert(v) for name, convert, v in values}

    return to_dict
