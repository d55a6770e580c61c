"""A tracker of your own events by XOR, without a topology.

Imports: errors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple, TypeAlias

from fsshelter_py.errors import TrackingError

__all__ = ["AckTracker", "Stamp"]

Stamp: TypeAlias = bytes | bytearray | memoryview | int

_INT_BITS: Final = 64


class AckTracker:
    """Tells when everything that a tag has caused is done: its stamps, folded by XOR, have come to zero.

    Start a tag with a random stamp; whatever begins or ends under it stamps it with its own. Each stamp that came in
    twice cancels out, so beginning three things while ending one is a single ``stamp`` with the XOR of all four. As
    much is kept for a tag of a million stamps as for one of two.

    >>> tracker = AckTracker()
    >>> tracker.on_acked(lambda tag: print("done:", tag))
    >>> tracker.on_failed(lambda tag: print("failed:", tag))
    >>> file, word, other_word = 0x29, 0x25, 0xA9  # use random ones: secrets.randbits(64), secrets.token_bytes(8)
    >>> tracker.add("letter.txt", file)
    >>> tracker.stamp("letter.txt", file ^ word ^ other_word)  # the file is read, two words are to be counted
    >>> tracker.stamp("letter.txt", word)
    >>> tracker.stamp("letter.txt", other_word)
    done: letter.txt
    >>> tracker.add("empty.txt", file)
    >>> tracker.fail("empty.txt")
    failed: empty.txt

    A stamp is ``bytes`` or a 64-bit ``int``, signed or not: -1 and 2**64 - 1 are the same. All stamps of one tag are of
    one kind and length; tags may differ. Too short stamps cancel out by chance; 8 bytes are enough in practice.

    It does what the npm package ``ack`` 0.1.0 does, event for event: a stamp for a tag that is not tracked is ignored,
    ``fail`` reports a tag that is not tracked too, an added zero stamp waits for a ``stamp``, a tag is forgotten
    before its callbacks run (which may add it again), and an error in a callback reaches the caller and keeps the later
    callbacks from running. It differs where that one goes wrong:

    - Tags are any hashable values, each itself: 1 is not "1", and "constructor" is a tag like any other. There, all
      tags become strings, and such names always count as taken.
    - What is no stamp raises ``TrackingError``, for a tag that is not tracked too. There, null, 0 and empty text are
      accepted and lost, and other text and numbers fold to nonsense or crash a later call.
    - A ``bytearray`` or ``memoryview`` is copied. There, changing a buffer after it was added corrupts the tag.

    Every ``TrackingError`` leaves the tracker as it was. Not safe for use by several threads at once.
    """

    __slots__ = ("_acked", "_failed", "_folded")

    def __init__(self) -> None:
        self._folded: dict[Hashable, _Folded] = {}
        self._acked: list[Callable[[Any], object]] = []
        self._failed: list[Callable[[Any], object]] = []

    def on_acked(self, callback: Callable[[Any], object]) -> None:
        """Call ``callback(tag)`` for each tag that comes to zero. Several are called in the order given."""
        self._acked.append(_callback(callback))

    def on_failed(self, callback: Callable[[Any], object]) -> None:
        """Call ``callback(tag)`` for each ``fail``. Several are called in the order given."""
        self._failed.append(_callback(callback))

    def add(self, tag: Hashable, stamp: Stamp) -> None:
        """Start to track ``tag``.

        Raises ``TrackingError`` where it is tracked already, and for a tag or a stamp that cannot be one.
        """
        folded = _fold(tag, stamp)
        if tag in self._folded:
            raise TrackingError(f"tag {tag!r} is tracked already: it can be added again once it is acked or failed")
        self._folded[tag] = folded

    def stamp(self, tag: Hashable, stamp: Stamp) -> None:
        """Fold ``stamp`` into ``tag``; where that makes zero the tag is acked and forgotten. Ignores an unknown tag.

        Raises ``TrackingError`` for a stamp of another kind or length than the tag's, and for a tag or a stamp that
        cannot be one.
        """
        given = _fold(tag, stamp)
        kept = self._folded.get(tag)
        if kept is None:
            return
        if given.kind != kept.kind:
            raise TrackingError(f"tag {tag!r} was added with a stamp of {kept.kind}, got one of {given.kind}")
        xor = kept.xor ^ given.xor
        if xor:
            self._folded[tag] = _Folded(kept.kind, xor)
            return
        del self._folded[tag]
        _call(self._acked, tag)

    def fail(self, tag: Hashable) -> None:
        """Forget ``tag`` and report it as failed, tracked or not. Raises ``TrackingError`` for an unhashable tag."""
        _check_hashable(tag)
        self._folded.pop(tag, None)
        _call(self._failed, tag)


class _Folded(NamedTuple):
    """The stamps of a tag in one number. kind: what they all are, in words; only equal kinds are folded."""

    kind: str
    xor: int


def _fold(tag: Hashable, stamp: object) -> _Folded:
    _check_hashable(tag)
    if isinstance(stamp, (bytes, bytearray, memoryview)):
        octets = bytes(stamp)
        return _Folded("1 byte" if len(octets) == 1 else f"{len(octets)} bytes", int.from_bytes(octets))
    if not isinstance(stamp, int) or isinstance(stamp, bool):
        raise TrackingError(f"stamp of tag {tag!r}: expected bytes or a 64-bit int, got {stamp!r}")
    if not -(1 << (_INT_BITS - 1)) <= stamp < 1 << _INT_BITS:
        raise TrackingError(f"stamp of tag {tag!r}: expected an int of 64 bits at most, got {stamp:#x}")
    return _Folded("a 64-bit int", stamp & ((1 << _INT_BITS) - 1))


def _check_hashable(tag: object) -> None:
    try:
        hash(tag)
    except TypeError as error:
        raise TrackingError(f"tag {tag!r}: expected a hashable value ({error})") from error


def _callback(callback: Callable[[Any], object]) -> Callable[[Any], object]:
    if not callable(callback):
        raise TrackingError(f"expected a function of one tag, got {callback!r}")
    return callback


def _call(callbacks: list[Callable[[Any], object]], tag: Hashable) -> None:
    for callback in tuple(callbacks):  # one that is added by another begins with the next event
        callback(tag)
