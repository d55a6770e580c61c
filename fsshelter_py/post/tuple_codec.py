"""Tuples of one stream as bytes: their fields, by column.

A column is read with ``operator.attrgetter`` and packed as one list, and the tuples are made again with ``map(cls,
*columns)``: nothing is done in Python for each. On 2 cores a tuple of two fields took 60 ns to pack so, and 220 ns to
make again, most of that in the class's ``__init__``; as an object of its own, 2,100 ns to pack alone. Where fields are
slots of a dataclass, they are set without ``__init__``, in half the time. Field by field msgpack was faster still to
pack (15 ns), but does not give a tuple back as a tuple, nor an integer beyond 64 bits.

That is right only for a class whose ``__init__`` takes its fields and does nothing else; others are packed whole.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter
from types import FunctionType, MemberDescriptorType
from typing import Any

from fsshelter_py.errors import EmitError
from fsshelter_py.model.schema import field_names, is_tuple_class
from fsshelter_py.post.packing import pack, unpack

__all__ = ["TupleCodec", "UnpackableTuple"]


class UnpackableTuple(EmitError):
    """A tuple that cannot be sent to another process: a field of it cannot be packed."""


class TupleCodec:
    """Packs the tuples of one stream. Any thread may use it: it keeps nothing but what it was made with."""

    def __init__(self, cls: type[Any], *, edge: str) -> None:
        """edge: what an error calls the place, such as ``splitter >> counter on stream Word``."""
        self._cls = cls
        self._edge = edge
        self.singly = False
        """Whether what cannot be unpacked there was among the tuples, so that each tree's are packed on their own."""
        self._getters: list[Callable[[Any], Any]] = []
        self._setters: list[Callable[[Any, Any], None]] = []
        if _is_made_of_its_fields(cls):
            names = field_names(cls)
            self._getters = [attrgetter(name) for name in names]
            slots = [vars(cls).get(name) for name in names]
            if "__dataclass_fields__" in vars(cls) and all(isinstance(slot, MemberDescriptorType) for slot in slots):
                self._setters = [slot.__set__ for slot in slots]

    def pack(self, tuples: Sequence[Any]) -> bytes:
        """The tuples as bytes. Raises whatever stands in the way; ``problem`` tells which tuple and which field."""
        if self._getters and set(map(type, tuples)) == {self._cls}:
            return pack([list(map(get, tuples)) for get in self._getters])
        return pack(tuple(tuples))

    def unpack(self, data: bytes) -> list[Any]:
        """The tuples again."""
        found = unpack(data)
        if type(found) is not list:
            return list(found)
        if not self._setters:
            return list(map(self._cls, *found))
        tuples = list(map(object.__new__, repeat(self._cls, len(found[0]))))
        for set_field, column in zip(self._setters, found, strict=True):
            deque(map(set_field, tuples, column), maxlen=0)  # calls them all
        return tuples

    def problem(self, tuple_: Any) -> UnpackableTuple | None:
        """Why this tuple cannot be packed, naming the field; None if it can."""
        try:
            self.unpack(self.pack([tuple_]))
            return None
        except BaseException as error:
            where, cause = "", error
            for name in field_names(type(tuple_)) if is_tuple_class(type(tuple_)) else ():
                try:
                    unpack(pack(getattr(tuple_, name)))
                except BaseException as of_field:
                    where, cause = f" field {name!r},", of_field
                    break
            problem = UnpackableTuple(
                f"{self._edge}: a {type(tuple_).__qualname__} cannot be sent to another worker process:{where} "
                f"{type(cause).__name__}: {cause}; send what can be pickled, or keep both components in one process"
            )
            problem.__cause__ = cause
            return problem


def _is_made_of_its_fields(cls: type[Any]) -> bool:
    """Whether ``cls(*fields)`` makes a tuple again, and runs no code of the user's."""
    names = field_names(cls)
    if not names or not _takes_just(cls, names) or _pickles_by_own_rules(cls):
        return False
    own = vars(cls)
    if "_fields" in own and issubclass(cls, tuple):
        return cls.__mro__[1] is tuple
    if "__struct_fields__" in own or hasattr(cls, "__struct_config__"):
        return not hasattr(cls, "__post_init__") and "__init__" not in own
    if getattr(cls, "__new__", None) is not object.__new__ or not _is_generated(own.get("__init__")):
        return False
    if "__dataclass_fields__" in own:
        return not hasattr(cls, "__post_init__")
    hooked = hasattr(cls, "__attrs_post_init__") or hasattr(cls, "__attrs_pre_init__")
    return not hooked and all(a.converter is None for a in own.get("__attrs_attrs__", ()))


def _takes_just(cls: type[Any], names: Sequence[str]) -> bool:
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [p.name for p in parameters] == list(names) and all(p.kind is positional for p in parameters)


def _pickles_by_own_rules(cls: type[Any]) -> bool:
    """Whether the user says how it is pickled; what dataclasses, attrs and msgspec say of it comes to its fields."""
    for base in cls.__mro__:
        for name in ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"):
            rule = vars(base).get(name)
            if isinstance(rule, FunctionType) and rule.__module__ not in ("dataclasses", "attr._make"):
                return True
    return False


def _is_generated(function: Any) -> bool:
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith("<")
