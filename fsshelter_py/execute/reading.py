"""Whether anything is in flight, over one process or several. Pure: the caller passes on what the parts say.

Sound because the counters only grow: what is done is read before what was sent, so equal sums mean that at the moment
between, nothing was on its way. A spout at rest sends nothing, and leaves its rest, to ask again after a nack, before
its nack handler counts as done; so it must be at rest before and after.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["UNKNOWN", "Census", "Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one part says of itself.

    at_rest: whether all its spouts are, before and after the rest was read. exhausted: whether all of them have ended.
    done, sent: bundles and deliveries finished and made; ``done`` was read first. failed: whether an executor has.
    """

    at_rest: bool
    exhausted: bool
    done: int
    sent: int
    failed: bool

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was in flight, where this is the only part."""
        return self.at_rest and self.done == self.sent


UNKNOWN = Reading(at_rest=False, exhausted=False, done=0, sent=0, failed=False)
"""Of a part that has not said anything yet."""


class Census:
    """Readings of several parts, in rounds: a round is begun only when that before is complete.

    So whatever a round reads, it reads after all that the round before did: it takes the ``done`` of one round and the
    ``sent`` of the next to compare all processes at one moment, the one between both.
    """

    def __init__(self, parts: Iterable[int]) -> None:
        self.round = 0
        self._parts = frozenset(parts)
        self._before: dict[int, Reading] = {}
        self._now: dict[int, Reading] = {}

    @property
    def is_complete(self) -> bool:
        """Whether every part has answered the present round, or none is under way."""
        return self.round == 0 or self._now.keys() == self._parts

    def begin(self) -> int:
        """Begin a round; its number, to be given with every answer. Not while one is under way."""
        self._before, self._now = self._now, {}
        self.round += 1
        return self.round

    def forget(self) -> None:
        """What was read so far, or is being read, says nothing of what comes."""
        self.round += 1
        self._before, self._now = {}, dict.fromkeys(self._parts, UNKNOWN)

    def answer(self, round: int, part: int, reading: Reading) -> bool:
        """A part's answer; whether nothing may be in flight now that all have answered, so that it is worth another."""
        if round != self.round or part in self._now:
            return False
        self._now[part] = reading
        return self.is_complete and _is_quiet(self._now, self._now)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was in flight between the last two rounds."""
        return bool(self._before) and self.is_complete and _is_quiet(self._before, self._now)


def _is_quiet(before: dict[int, Reading], after: dict[int, Reading]) -> bool:
    readings = (*before.values(), *after.values())
    return all(r.at_rest for r in readings) and sum(r.done for r in before.values()) == sum(
        r.sent for r in after.values()
    )
