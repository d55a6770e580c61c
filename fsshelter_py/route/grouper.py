"""Groupers: which task of the receiver gets which of the tuples emitted on a stream.

A grouper belongs to one emitting task and is called by its executor's thread only. It neither changes nor keeps the
list it is given, but may hand that very list out again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeAlias

from fsshelter_py.errors import GroupingError
from fsshelter_py.model.grouping import Choose, Grouping, GroupingKind
from fsshelter_py.model.ids import ComponentId, StreamId, TaskId
from fsshelter_py.route.key import Key, Placed

__all__ = ["Grouper", "direct_index", "make_grouper"]

Grouper: TypeAlias = Callable[[list[Any]], Iterable[tuple[int, list[Any]]]]
"""Takes tuples of one stream in the order emitted; gives pairs of an index into the receiver's tasks, each at most
once, and the tuples for that task, in order."""


def make_grouper(
    grouping: Grouping,
    *,
    source: ComponentId,
    stream: StreamId,
    target: ComponentId,
    tasks: Sequence[TaskId],
    local: Collection[int] = (),
    offset: int = 0,
) -> Grouper:
    """A grouper for one emitting task.

    tasks: the ids of the receiver's tasks, one at least. local: those, as indexes into ``tasks``, that share the
    emitting task's executor. offset: which task a shuffle begins with, so that not all emitting tasks begin with the
    first.
    The grouper raises ``GroupingError``, naming the edge and the field, for a tuple that it cannot route.
    """
    edge = f"{source} >> {target} on stream {stream} by {grouping}"
    kind = grouping.kind
    if kind is GroupingKind.DIRECT:
        return _nowhere
    if kind is GroupingKind.CUSTOM:
        if grouping.choose is None:
            raise GroupingError(f"{edge}: a custom grouping needs a function that chooses the tasks")
        return _custom(grouping.choose, tuple(tasks), edge)
    if len(tasks) == 1:
        return _only
    if kind is GroupingKind.ALL:
        return _all(len(tasks))
    if kind is GroupingKind.GLOBAL:
        return _constant(tasks.index(min(tasks)))
    if kind is GroupingKind.SHUFFLE:
        return _shuffle(range(len(tasks)), offset)
    if kind is GroupingKind.LOCAL_OR_SHUFFLE:
        return _shuffle(sorted(local) or range(len(tasks)), offset)
    key = Key(grouping, edge)
    return _fields(key, len(tasks)) if kind is GroupingKind.FIELDS else _partial_key(key, len(tasks))


def direct_index(tasks: Sequence[TaskId], task_id: TaskId, *, edge: str = "a direct emit") -> int:
    """The index of the task a tuple is emitted to directly. Raises ``GroupingError`` where it is not one of ``tasks``.

    edge: what the error calls the place, such as ``splitter >> counter on stream Word``.
    """
    try:
        return tasks.index(task_id)
    except ValueError:
        raise GroupingError(f"{edge}: {_unknown(task_id, tasks)}") from None


def _only(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
    return ((0, tuples),) if tuples else ()


def _nowhere(_: list[Any]) -> Iterable[tuple[int, list[Any]]]:
    return ()


def _constant(index: int) -> Grouper:
    def constant(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
        return ((index, tuples),) if tuples else ()

    return constant


def _all(count: int) -> Grouper:
    indexes = range(count)

    def all_(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
        return [(index, tuples) for index in indexes] if tuples else ()

    return all_


def _shuffle(indexes: Sequence[int], offset: int) -> Grouper:
    """Round robin, tuple by tuple, going on where the last call left off."""
    count = len(indexes)
    following = offset % count

    def shuffle(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
        nonlocal following
        first = following
        size = len(tuples)
        if size == 1:
            following = first + 1 if first + 1 < count else 0
            return ((indexes[first], tuples),)
        following = (first + size) % count
        return [(indexes[(first + n) % count], tuples[n::count]) for n in range(min(size, count))]

    return shuffle


def _fields(key: Key, count: int) -> Grouper:
    key_of = key.of
    index_of = Placed(lambda hashed: hashed % count)

    def fields(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
        # A plain loop: at 1 to 8 tuples a call, what is usual, it took a third to two thirds of the time that
        # map(), defaultdict or a list for each task took.
        tuple_ = None
        try:
            if len(tuples) == 1:
                tuple_ = tuples[0]
                return ((index_of[key_of(tuple_)], tuples),)
            split: dict[int, list[Any]] = {}
            for tuple_ in tuples:
                index = index_of[key_of(tuple_)]
                if index in split:
                    split[index].append(tuple_)
                else:
                    split[index] = [tuple_]
        except (Exception, SystemExit) as error:
            raise key.explain(tuple_, error) from error
        return split.items()

    return fields


def _partial_key(key: Key, count: int) -> Grouper:
    """Each key has two tasks; a tuple goes to that of them which this emitting task has sent less to.

    Nasir et al., "The power of both choices", ICDE 2015.
    """
    key_of = key.of
    sent = [0] * count

    def two_of(hashed: int) -> tuple[int, int]:
        first = hashed % count
        # CRC-32 is linear: summed with another seed it would give the same second choice to all keys that share the
        # first. The upper half of a product by 2**32 over the golden ratio does not.
        second = (hashed * 2_654_435_769 & 0xFFFFFFFF) >> 16
        return first, (first + 1 + second % (count - 1)) % count

    candidates = Placed(two_of)

    def partial_key(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
        split: dict[int, list[Any]] = {}
        tuple_ = None
        try:
            for tuple_ in tuples:
                first, second = candidates[key_of(tuple_)]
                index = first if sent[first] <= sent[second] else second
                sent[index] += 1
                if index in split:
                    split[index].append(tuple_)
                else:
                    split[index] = [tuple_]
        except (Exception, SystemExit) as error:
            raise key.explain(tuple_, error) from error
        return split.items()

    return partial_key


def _custom(choose: Choose, tasks: tuple[TaskId, ...], edge: str) -> Grouper:
    index_of = {task_id: index for index, task_id in enumerate(tasks)}

    def custom(tuples: list[Any]) -> Iterable[tuple[int, list[Any]]]:
        split: dict[int, list[Any]] = {}
        for tuple_ in tuples:
            try:
                chosen = choose(tuple_, tasks)
                # Chosen twice, a task still gets the tuple once.
                ids = dict.fromkeys(chosen if isinstance(chosen, Iterable) else (chosen,))
            except (Exception, SystemExit) as error:
                raise GroupingError(
                    f"{edge}: the function that chooses tasks failed for a {type(tuple_).__qualname__}: "
                    f"{type(error).__name__}: {error}"
                ) from error
            for task_id in ids:
                if task_id not in index_of:
                    raise GroupingError(f"{edge}: the function that chooses tasks gave {_unknown(task_id, tasks)}")
                split.setdefault(index_of[task_id], []).append(tuple_)
        return split.items()

    return custom


def _unknown(task_id: Any, tasks: Sequence[TaskId]) -> str:
    return f"{task_id!r}, which is no task of the receiver; give one of {', '.join(map(str, tasks))}"
