"""A map that forgets what has not been put for a while, after Storm's ``RotatingMap``."""

from __future__ import annotations

from typing import Generic, TypeVar, overload

from fsshelter_py.errors import ConfError

__all__ = ["RotatingMap"]

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class RotatingMap(Generic[K, V]):
    """A map whose entries expire by rotation: no clock, no thread, the caller rotates.

    An entry expires with the ``buckets``-th ``rotate`` after it was last put. Where ``rotate`` is called once a period,
    that is after more than ``buckets - 1`` and at most ``buckets`` periods; so with a timeout of ``t`` and a rotation
    every ``t / (buckets - 1)`` nothing expires before ``t``, and everything by ``t * buckets / (buckets - 1)``.

    ``put``, ``get``, ``remove``, ``len`` and ``in`` are O(buckets), ``rotate`` too, whatever is in the map: no entry
    has a timer or a place in a queue. Storm's has the same bound and cost.

    Not safe for use by several threads at once.

    >>> seen = RotatingMap(buckets=2)
    >>> seen.put("a", 1)
    >>> seen.rotate()
    {}
    >>> seen.put("b", 2)
    >>> seen.rotate()
    {'a': 1}
    >>> "b" in seen
    True

    Raises ``ConfError`` for fewer than two buckets: one alone would expire an entry put just before the rotation.
    """

    __slots__ = ("_buckets",)

    # Youngest first; a key is in at most one of them.
    _buckets: list[dict[K, V]]

    def __init__(self, buckets: int = 3) -> None:
        if buckets < 2:
            raise ConfError([f"buckets: expected 2 or more, got {buckets!r}"])
        self._buckets = [{} for _ in range(buckets)]

    def put(self, key: K, value: V) -> None:
        """Set ``key`` and start its time anew."""
        for bucket in self._buckets:
            if key in bucket:
                del bucket[key]
                break
        self._buckets[0][key] = value

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: D | None = None) -> V | D | None:
        """The value of ``key``, or ``default``. Its time goes on."""
        for bucket in self._buckets:
            if key in bucket:
                return bucket[key]
        return default

    @overload
    def remove(self, key: K) -> V | None: ...
    @overload
    def remove(self, key: K, default: D) -> V | D: ...
    def remove(self, key: K, default: D | None = None) -> V | D | None:
        """Take ``key`` out and return its value, or ``default`` where it is not there."""
        for bucket in self._buckets:
            if key in bucket:
                return bucket.pop(key)
        return default

    def rotate(self) -> dict[K, V]:
        """Expire the oldest bucket and return its entries, in the order they were put."""
        expired = self._buckets.pop()
        self._buckets.insert(0, {})
        return expired

    def __len__(self) -> int:
        return sum(map(len, self._buckets))

    def __contains__(self, key: object) -> bool:
        for bucket in self._buckets:  # noqa: SIM110 - any() over a generator takes twice as long, for every track
            if key in bucket:
                return True
        return False
