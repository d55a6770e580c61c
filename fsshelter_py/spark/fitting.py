"""How the type of a column fits the annotation of a field, and what turns its values into the field's.

A converter turns one value, as Arrow gives it to Python and never null, into what the annotation says; ``None`` stands
for the value as it is, so that plain columns cost nothing.
"""

from __future__ import annotations

import datetime
import difflib
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence, Set
from decimal import Decimal
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from pyspark.sql import types as sql

from fsshelter_py.model.schema import annotations_of, is_tuple_class, members_of

__all__ = ["NullValueError", "Part", "StructMaker", "parameters_of"]

Converter: TypeAlias = Callable[[Any], Any] | None

_PLAIN: tuple[tuple[type[sql.DataType], type], ...] = (
    (sql.BooleanType, bool),
    (sql.IntegralType, int),
    (sql.FractionalType, float),
    (sql.StringType, str),
    (sql.BinaryType, bytes),
    (sql.DateType, datetime.date),
    (sql.TimestampType, datetime.datetime),
    (sql.TimestampNTZType, datetime.datetime),
    (sql.DayTimeIntervalType, datetime.timedelta),
    (sql.TimeType, datetime.time),
)
_SEQUENCES = (list, Sequence, MutableSequence, Collection, Iterable)
_SETS: dict[Any, type] = {set: set, frozenset: frozenset, Set: frozenset}
_MAPPINGS = (dict, Mapping, MutableMapping)


class NullValueError(ValueError):
    """A null where the annotation does not allow ``None``. row: which of the batch, where that is known."""

    def __init__(self, path: str, field: str, row: int | None = None) -> None:
        self.path = path
        self.field = field
        self.row = row
        super().__init__(f"column {path!r} holds a null and {field} does not take None: annotate it `... | None`")


class _MisfitError(Exception):
    """One type does not fit one annotation; the message is the whole problem, in one sentence."""


class Part:
    """One column and the parameter it goes to."""

    __slots__ = ("convert", "field", "name", "optional", "path")

    def __init__(self, name: str, path: str, field: str, convert: Converter, *, optional: bool) -> None:
        self.name = name
        self.path = path
        self.field = field
        self.convert = convert
        self.optional = optional

    def value(self, value: Any) -> Any:
        """One value, of a nested struct."""
        if value is None:
            if self.optional:
                return None
            raise NullValueError(self.path, self.field)
        return value if self.convert is None else self.convert(value)


class StructMaker:
    """Makes instances of a class from the columns of a struct. problems: what does not fit; then it is of no use."""

    def __init__(
        self, struct: sql.StructType, cls: type[Any], zone: ZoneInfo, prefix: str, within: set[type[Any]]
    ) -> None:
        self.problems: list[str] = []
        self.parts: list[Part] = []
        parameters = parameters_of(cls)
        hints = annotations_of(cls)
        by_name = {field.name: field for field in struct.fields}
        gap = False
        positional = True
        for name, parameter in parameters.items():
            field = f"{cls.__name__}.{name}"
            column = by_name.get(name)
            if column is None:
                gap = True
                if parameter.default is inspect.Parameter.empty:
                    self.problems.append(_missing(prefix + name, field, [prefix + n for n in by_name]))
                continue
            positional = positional and not gap and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            annotation = hints.get(name, Any)
            try:
                convert, optional = _fit(
                    column.dataType, annotation, prefix + name, field, zone, within | {cls}, self.problems
                )
            except _MisfitError as misfit:
                self.problems.append(str(misfit))
                continue
            self.parts.append(Part(name, prefix + name, field, convert, optional=optional))
        if not self.parts and not self.problems:
            self.problems.append(f"{cls.__name__} has no field that a column could go to")
        self.names = [part.name for part in self.parts]
        self._cls = cls
        self._positional = positional

    def build(self, columns: list[list[Any]], count: int) -> Iterable[Any]:
        """An instance a row."""
        cls, names = self._cls, self.names
        if self._positional:
            return map(cls, *columns)
        return (cls(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))

    def of_dict(self, value: dict[str, Any]) -> Any:
        """An instance of a nested struct's value."""
        return self._cls(**{part.name: part.value(value[part.name]) for part in self.parts})


def parameters_of(cls: type[Any]) -> Mapping[str, inspect.Parameter]:
    """What the class's constructor takes, whichever of the four kinds of tuple class it is."""
    return inspect.signature(cls).parameters


def _missing(path: str, field: str, columns: list[str]) -> str:
    near = difflib.get_close_matches(path, columns, n=1) or [c for c in columns if c.lower() == path.lower()]
    hint = (
        f": did you mean {near[0]!r}? Name it with .withColumnRenamed" if near else f" (there are {', '.join(columns)})"
    )
    return f"there is no column {path!r} for {field}{hint}"


def _fit(
    of: sql.DataType,
    annotation: Any,
    path: str,
    field: str,
    zone: ZoneInfo,
    within: set[type[Any]],
    problems: list[str],
) -> tuple[Converter, bool]:
    """How a Spark type becomes what the annotation says, and whether that allows None. Raises ``_MisfitError``."""
    members = [_plain(member) for member in members_of(annotation)]
    if not members or any(m is Any or m is object or isinstance(m, typing.TypeVar) for m in members):
        return _natural(of, path), True
    optional = any(m is None or m is types.NoneType for m in members)
    wanted = [m for m in members if m is not None and m is not types.NoneType]
    if isinstance(of, sql.NullType) and optional:
        return None, True
    misfit: _MisfitError | None = None
    for member in wanted:
        try:
            return _fit_one(of, member, path, field, zone, within, problems), optional
        except _MisfitError as error:
            misfit = error if misfit is None or len(wanted) == 1 else misfit
    raise misfit or _MisfitError(f"column {path!r} is {of.simpleString()} and {field} takes only None")


def _plain(member: Any) -> Any:
    """The annotation under NewTypes."""
    while hasattr(member, "__supertype__"):
        member = member.__supertype__
    return member


def _fit_one(
    of: sql.DataType, wanted: Any, path: str, field: str, zone: ZoneInfo, within: set[type[Any]], problems: list[str]
) -> Converter:
    origin = typing.get_origin(wanted) or wanted
    args = typing.get_args(wanted)
    misfit = _MisfitError(f"column {path!r} is {of.simpleString()} and {field} is {_spelled(wanted)}{_expected(of)}")

    def inner(of: sql.DataType, annotation: Any, path: str, nulls: bool) -> Converter:
        convert, optional = _fit(of, annotation, path, field, zone, within, problems)
        return _guarded(convert, path, field, optional=optional) if nulls else convert

    if isinstance(of, sql.ArrayType):
        if origin not in _SEQUENCES and origin not in _SETS and origin is not tuple:
            raise misfit
        if origin is tuple and args and args[-1] is not Ellipsis:
            raise misfit
        item = inner(of.elementType, args[0] if args else Any, f"{path}[]", of.containsNull)
        make = tuple if origin is tuple else _SETS.get(origin)
        return _sequence(item, make)
    if isinstance(of, sql.MapType):
        if origin not in _MAPPINGS:
            raise misfit
        key = inner(of.keyType, args[0] if args else Any, f"{path}.key", False)
        value = inner(of.valueType, args[1] if args else Any, f"{path}.value", of.valueContainsNull)
        return _mapping(key, value)
    if isinstance(of, sql.StructType):
        if is_tuple_class(origin):
            if origin in within:
                raise _MisfitError(f"{field} is of the class {origin.__name__} that holds it, which no column can be")
            maker = StructMaker(of, origin, zone, f"{path}.", within)
            problems += maker.problems
            return maker.of_dict
        if origin in _MAPPINGS:
            return _natural(of, path)
        raise misfit
    if isinstance(of, sql.DecimalType):
        if origin is Decimal:
            return None
        raise misfit
    given = next((plain for kind, plain in _PLAIN if isinstance(of, kind)), None)
    if given is not None and origin is given:
        return None
    if given is int and origin is float:
        return float
    raise misfit


def _spelled(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)


def _expected(of: sql.DataType) -> str:
    if isinstance(of, sql.DecimalType):
        return ": annotate it Decimal, or cast the column"
    if isinstance(of, sql.ArrayType):
        return ": annotate it list[...], tuple[..., ...] or set[...]"
    if isinstance(of, sql.MapType):
        return ": annotate it dict[..., ...]"
    if isinstance(of, sql.StructType):
        return ": annotate it with a class that has the struct's fields, or dict[str, Any]"
    given = next((plain for kind, plain in _PLAIN if isinstance(of, kind)), None)
    return f": annotate it {given.__name__}, or cast the column" if given else ", which has no Python value: cast it"


def _natural(of: sql.DataType, path: str) -> Converter:
    """As Spark's own rows have it, with dicts for structs: for what the annotation does not say."""
    if isinstance(of, sql.ArrayType):
        return _sequence(_unless_none(_natural(of.elementType, path)), None)
    if isinstance(of, sql.MapType):
        return _mapping(_natural(of.keyType, path), _unless_none(_natural(of.valueType, path)))
    if isinstance(of, sql.StructType):
        parts = {field.name: _unless_none(_natural(field.dataType, path)) for field in of.fields}
        if not any(parts.values()):
            return None
        return lambda value: {name: v if (c := parts[name]) is None else c(v) for name, v in value.items()}
    if isinstance(of, (sql.DecimalType, sql.NullType)) or any(isinstance(of, kind) for kind, _ in _PLAIN):
        return None
    raise _MisfitError(f"column {path!r} is {of.simpleString()}, which has no Python value: cast it")


def _unless_none(convert: Converter) -> Converter:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _guarded(convert: Converter, path: str, field: str, *, optional: bool) -> Converter:
    """A converter of values that may be null."""
    if optional:
        return _unless_none(convert)

    def guarded(value: Any) -> Any:
        if value is None:
            raise NullValueError(path, field)
        return value if convert is None else convert(value)

    return guarded


def _sequence(item: Converter, make: Callable[[Iterable[Any]], Any] | None) -> Converter:
    if item is None:
        return make
    if make is None:
        return lambda value: list(map(item, value))
    return lambda value: make(map(item, value))


def _mapping(key: Converter, value: Converter) -> Converter:
    if key is None and value is None:
        return dict
    return lambda pairs: {(k if key is None else key(k)): (v if value is None else value(v)) for k, v in pairs}
