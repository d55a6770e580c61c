"""The key of a tuple under ``Group.by`` and ``PartialKey.by``: how it is read, where it is placed, why it cannot be."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from fsshelter_py.errors import GroupingError
from fsshelter_py.model.grouping import Grouping
from fsshelter_py.route.key_hash import stable_hash

__all__ = ["Key", "Placed"]

P = TypeVar("P")

LIMIT: Final = 65_536
"""Keys that a cache holds, so that memory stays flat however many keys there are."""


class Placed(dict[Any, P], Generic[P]):
    """A cache of where keys are placed: ``placed[key]`` is ``place(stable_hash(key))``.

    Looking up a key by equality is right, since equal keys have equal hashes. Full, it starts anew: that is as good as
    evicting one by one while the keys in use are fewer than it holds, and costs a known key nothing.
    """

    def __init__(self, place: Callable[[int], P]) -> None:
        super().__init__()
        self._place = place

    def __missing__(self, key: Any) -> P:
        placed = self._place(stable_hash(key))
        if len(self) >= LIMIT:
            self.clear()
        self[key] = placed
        return placed


class Key:
    """How a grouping reads its key: ``of(tuple)`` is one field's value, the tuple of several, or what a function gives.

    edge: names the stream and its two ends in errors.
    """

    def __init__(self, grouping: Grouping, edge: str) -> None:
        if grouping.key is None and not grouping.fields:
            raise GroupingError(f"{edge}: name the fields that make the key, or give a key function")
        self.of: Callable[[Any], Any] = grouping.key or operator.attrgetter(*grouping.fields)
        self._edge = edge
        self._parts: dict[str, Callable[[Any], Any]] = (
            {"the key function": grouping.key}
            if grouping.key is not None
            else {f"field {field!r}": operator.attrgetter(field) for field in grouping.fields}
        )

    def explain(self, tuple_: Any, error: BaseException) -> GroupingError:
        """The error to raise for a tuple whose key could not be read or placed because of ``error``.

        The key is read again, part by part: the hot path does not note which of them failed.
        """
        cls = type(tuple_).__qualname__
        for part, read in self._parts.items():
            try:
                value = read(tuple_)
            except (Exception, SystemExit) as unread:
                return self._error(f"{part} failed for a {cls}: {type(unread).__name__}: {unread}")
            try:
                stable_hash(value)
                hash(value)
            except Exception as unhashed:
                return self._error(f"{part} of a {cls} is {reprlib.repr(value)}: {unhashed}")
        return self._error(f"the key of a {cls} failed: {type(error).__name__}: {error}")

    def _error(self, detail: str) -> GroupingError:
        return GroupingError(f"{self._edge}: {detail}")
