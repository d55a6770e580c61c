"""Nacked tuples, emitted again or given up."""

from __future__ import annotations

from typing import Any

from fsshelter_py import DeadLetter, NackReason
from fsshelter_py.spark.replay import Replay

FAILED = NackReason("failed", "bolt")


class Log:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def error(self, event: str, **_: Any) -> None:
        self.events.append(event)


def nacked(replay: Replay, key: tuple[Any, ...], tuple: Any) -> tuple[Any, Any] | None:
    replay.nack(key, tuple, FAILED)
    return replay.again.popleft() if replay.again else None


def test_a_nacked_tuple_is_emitted_again_under_its_key() -> None:
    """Without a limit it comes again for ever."""
    replay = Replay(None, Log())
    for _ in range(100):
        assert nacked(replay, (0, 1), "row") == ((0, 1), "row")


def test_the_last_attempt_is_followed_by_a_dead_letter_of_its_own_key() -> None:
    """Three attempts in all, then a letter that says so."""
    log = Log()
    replay = Replay(3, log)
    assert nacked(replay, (0, 1), "row") == ((0, 1), "row")
    assert nacked(replay, (0, 1), "row") == ((0, 1), "row")
    assert nacked(replay, (0, 1), "row") == ((0, 1, "dead"), DeadLetter("row", 3, FAILED))
    assert log.events == ["dead_letter"]


def test_a_dead_letter_is_given_up_like_a_tuple() -> None:
    """A bolt that fails every letter does not keep the spout busy for ever; the row stays unsettled."""
    log = Log()
    replay = Replay(1, log)
    key, letter = nacked(replay, (0, 1), "row") or ((), None)
    assert not replay.nack(key, letter, FAILED)
    assert not replay.again
    assert log.events == ["dead_letter", "dead_letter_lost"]


def test_an_ack_starts_the_attempts_anew() -> None:
    """What is settled is forgotten, so that memory stays flat."""
    replay = Replay(2, Log())
    assert nacked(replay, (0, 1), "row") == ((0, 1), "row")
    replay.ack((0, 1))
    assert nacked(replay, (0, 1), "row") == ((0, 1), "row")


def test_a_stop_has_nothing_emitted_again() -> None:
    """What a stop leaves unsettled is the next run's."""
    replay = Replay(2, Log())
    assert replay.nack((0, 1), "row", NackReason("stopped"))
    assert not replay.again


def test_without_dead_letters_a_tuple_is_given_up_at_once() -> None:
    """The caller is told, to fail what the tuple belongs to."""
    replay = Replay(1, Log(), dead_letters=False)
    assert not replay.nack((0, 1), "row", FAILED)
    assert not replay.again
