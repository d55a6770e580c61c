"""The groupings as a topology file writes them, each the record that the router reads.

What is wrong with one is found when the topology is built, together with every other problem of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fsshelter_py.model.grouping import Choose, Grouping, GroupingKind

__all__ = ["All", "Custom", "Direct", "Global", "Group", "LocalOrShuffle", "PartialKey", "Shuffle"]

T = TypeVar("T")


class Shuffle:
    """To one task each, all of them alike."""

    @staticmethod
    def on(cls: type[Any]) -> Grouping:
        """Of the stream of this tuple class."""
        return Grouping(GroupingKind.SHUFFLE, cls)


class All:
    """To every task: each is a delivery of its own, and the tree is done when all are."""

    @staticmethod
    def on(cls: type[Any]) -> Grouping:
        """Of the stream of this tuple class."""
        return Grouping(GroupingKind.ALL, cls)


class Direct:
    """To the task that the emitter names with ``emit.direct``."""

    @staticmethod
    def on(cls: type[Any]) -> Grouping:
        """Of the stream of this tuple class."""
        return Grouping(GroupingKind.DIRECT, cls)


class Global:
    """To the task with the lowest id."""

    @staticmethod
    def on(cls: type[Any]) -> Grouping:
        """Of the stream of this tuple class."""
        return Grouping(GroupingKind.GLOBAL, cls)


class LocalOrShuffle:
    """To a task of the emitter's own executor where there is one, else as ``Shuffle``."""

    @staticmethod
    def on(cls: type[Any]) -> Grouping:
        """Of the stream of this tuple class."""
        return Grouping(GroupingKind.LOCAL_OR_SHUFFLE, cls)


class Group:
    """Equal keys to the same task, in every process and on every run."""

    @staticmethod
    def by(cls: type[T], *fields: str, key: Callable[[T], object] | None = None) -> Grouping:
        """By the values of fields of the tuple (``outer.inner`` for a nested one), or by what ``key(tuple)`` gives."""
        return Grouping(GroupingKind.FIELDS, cls, fields=fields, key=key)


class PartialKey:
    """Equal keys to the less loaded of two tasks, which evens out a skew of keys."""

    @staticmethod
    def by(cls: type[T], *fields: str, key: Callable[[T], object] | None = None) -> Grouping:
        """By the values of fields of the tuple (``outer.inner`` for a nested one), or by what ``key(tuple)`` gives."""
        return Grouping(GroupingKind.PARTIAL_KEY, cls, fields=fields, key=key)


class Custom:
    """To the task or tasks that a function of yours chooses."""

    @staticmethod
    def on(cls: type[Any], choose: Choose) -> Grouping:
        """``choose(tuple, task_ids)`` gives one of the task ids, or several."""
        return Grouping(GroupingKind.CUSTOM, cls, choose=choose)
