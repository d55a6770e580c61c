"""What a topology must do, told one tuple after the other: no thread, no id, no XOR.

Random topologies are run by the runtime and by this, and what comes out is compared.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fsshelter_py.model.grouping import Grouping, GroupingKind
from fsshelter_py.model.ids import ComponentId, StreamId, TaskId
from fsshelter_py.model.topology import Stream

__all__ = ["FAIL", "Expected", "Handle", "Outcome", "interpret", "split_keys"]


class _Fail(enum.Enum):
    FAIL = "FAIL"


FAIL = _Fail.FAIL
"""Where a bolt raises. What it emitted before is delivered all the same."""

Handle: TypeAlias = Callable[[Any], Iterable[Any]]
"""A bolt: the tuples it emits for a tuple, and ``FAIL`` where it raises; a function of the tuple alone."""

Outcome: TypeAlias = Literal["acked", "nacked"]


@dataclass(frozen=True)
class Expected:
    """outcomes: of each spout's tuples, in the order given. deliveries: how often each bolt is handed each tuple."""

    outcomes: Mapping[ComponentId, Sequence[Outcome]]
    deliveries: Mapping[ComponentId, Counter[Any]]


def interpret(
    streams: Sequence[Stream],
    tasks: Mapping[ComponentId, Sequence[TaskId]],
    sources: Mapping[ComponentId, Sequence[Any]],
    bolts: Mapping[ComponentId, Handle],
) -> Expected:
    """What becomes of the tuples of ``sources``, each emitted once. ``tasks``: the ids of each bolt's tasks."""
    deliveries: dict[ComponentId, Counter[Any]] = {name: Counter() for name in bolts}

    def any_failure(emitter: ComponentId, tuple_: Any, *, in_tree: bool) -> bool:
        """Deliver an emitted tuple to all who subscribe it; whether its tree failed for it or what it caused."""
        failed = False
        for stream in streams:
            if stream.source == emitter and stream.cls is type(tuple_):
                for _ in range(_copies(stream.grouping, tuple_, tasks[stream.target])):
                    # Whether this stream is anchored decides about what its receiver emits, not about the delivery.
                    failed |= handled(stream.target, tuple_, in_tree=in_tree, anchored=stream.anchored)
        return failed

    def handled(bolt: ComponentId, tuple_: Any, *, in_tree: bool, anchored: bool) -> bool:
        deliveries[bolt][tuple_] += 1
        failed = False
        for emitted in bolts[bolt](tuple_):
            if emitted is FAIL:
                return failed or in_tree
            failed |= any_failure(bolt, emitted, in_tree=in_tree and anchored)
        return failed

    outcomes: dict[ComponentId, list[Outcome]] = {
        spout: ["nacked" if any_failure(spout, tuple_, in_tree=True) else "acked" for tuple_ in tuples]
        for spout, tuples in sources.items()
    }
    return Expected(outcomes, deliveries)


def split_keys(
    streams: Sequence[Stream], received: Iterable[tuple[ComponentId, StreamId, TaskId, Any]]
) -> list[tuple[Stream, Any, set[TaskId]]]:
    """The keys of fields groupings that went to several tasks of one bolt, of the deliveries made: none is right."""
    keyed = {(s.target, s.id): s for s in streams if s.grouping.kind is GroupingKind.FIELDS}
    went: dict[tuple[ComponentId, StreamId, Any], set[TaskId]] = {}
    for bolt, stream_id, task_id, tuple_ in received:
        if (bolt, stream_id) in keyed:
            key = _key(keyed[bolt, stream_id].grouping, tuple_)
            went.setdefault((bolt, stream_id, key), set()).add(task_id)
    return [(keyed[bolt, id_], key, ids) for (bolt, id_, key), ids in went.items() if len(ids) > 1]


def _copies(grouping: Grouping, tuple_: Any, tasks: Sequence[TaskId]) -> int:
    if grouping.kind is GroupingKind.ALL:
        return len(tasks)
    if grouping.kind is GroupingKind.DIRECT:
        return 0
    if grouping.kind is GroupingKind.CUSTOM:
        assert grouping.choose is not None
        chosen = grouping.choose(tuple_, tasks)
        return len(set(chosen)) if isinstance(chosen, Iterable) else 1
    return 1


def _key(grouping: Grouping, tuple_: Any) -> Any:
    if grouping.key is not None:
        return grouping.key(tuple_)
    values = []
    for field in grouping.fields:
        value = tuple_
        for name in field.split("."):
            value = getattr(value, name)
        values.append(value)
    return tuple(values)
