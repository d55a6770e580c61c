"""How the tuples of one stream are spread over the tasks of the bolt that subscribes it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fsshelter_py.model.ids import TaskId

__all__ = ["Choose", "Grouping", "GroupingKind"]

Choose: TypeAlias = Callable[[Any, Sequence[TaskId]], TaskId | Iterable[TaskId]]


class GroupingKind(enum.Enum):
    """The groupings of Storm, by their names in its interface."""

    SHUFFLE = "shuffle"
    FIELDS = "fields"
    ALL = "all"
    DIRECT = "direct"
    GLOBAL = "global"
    LOCAL_OR_SHUFFLE = "local-or-shuffle"
    PARTIAL_KEY = "partial-key"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class Grouping:
    """A grouping on the stream of one tuple class.

    cls: the tuple class whose stream is subscribed.
    fields: for FIELDS and PARTIAL_KEY, the fields that make the key (``outer.inner`` for a nested one).
    key: for FIELDS and PARTIAL_KEY, a function of the tuple that gives the key, instead of fields.
    choose: for CUSTOM, ``choose(tuple, task_ids)`` gives the id or ids of the tasks that receive the tuple.
    anchored: whether what the receiver emits joins the tree of the tuple it handles.
    """

    kind: GroupingKind
    cls: type[Any]
    fields: tuple[str, ...] = ()
    key: Callable[[Any], Any] | None = None
    choose: Choose | None = None
    anchored: bool = True

    def unanchored(self) -> Grouping:
        """What the receiver emits does not join the tree (FsShelter's ``-->``)."""
        return replace(self, anchored=False)

    def __str__(self) -> str:
        detail = f"({', '.join(self.fields)})" if self.fields else ""
        return self.kind.value + detail
