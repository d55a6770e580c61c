"""A census finds out whether anything is in flight between processes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.execute.reading import Census, Reading


def reading(done: int, sent: int, *, at_rest: bool = True) -> Reading:
    return Reading(at_rest=at_rest, exhausted=True, done=done, sent=sent, failed=False)


def answered(census: Census, *readings: Reading) -> bool:
    """A round in which the parts answer so; whether the last answer looked as if nothing were in flight."""
    round = census.begin()
    return [census.answer(round, part, one) for part, one in enumerate(readings)][-1]


def test_two_rounds_in_which_nothing_moves_are_quiet() -> None:
    """One alone is not enough: its parts are read at different moments."""
    census = Census(range(2))
    assert not census.is_quiet
    assert answered(census, reading(3, 4), reading(2, 1))
    assert not census.is_quiet
    assert answered(census, reading(3, 4), reading(2, 1))
    assert census.is_quiet


def test_what_was_sent_between_the_rounds_is_in_flight() -> None:
    """The first round's sums were equal by chance."""
    census = Census(range(2))
    answered(census, reading(3, 4), reading(2, 1))
    assert not answered(census, reading(3, 5), reading(2, 1))
    assert not census.is_quiet


def test_spout_that_is_not_at_rest_may_send() -> None:
    """In either round."""
    census = Census(range(2))
    answered(census, reading(1, 1), reading(1, 1, at_rest=False))
    assert not answered(census, reading(1, 1, at_rest=False), reading(1, 1))
    assert not census.is_quiet


def test_round_is_complete_when_all_have_answered() -> None:
    """Each once; an answer to another round counts nothing."""
    census = Census(range(3))
    assert census.is_complete
    round = census.begin()
    for part in (0, 1, 1):
        census.answer(round, part, reading(0, 0))
    census.answer(round - 1, 2, reading(0, 0))
    assert not census.is_complete
    census.answer(round, 2, reading(0, 0))
    assert census.is_complete


def test_forgotten_rounds_prove_nothing() -> None:
    """What is about to be sent comes after them."""
    census = Census(range(1))
    answered(census, reading(1, 1))
    answered(census, reading(1, 1))
    late = census.begin()
    census.forget()
    assert census.is_complete
    assert not census.is_quiet
    census.answer(late, 0, reading(1, 1))
    answered(census, reading(1, 1))
    assert not census.is_quiet
    answered(census, reading(1, 1))
    assert census.is_quiet


class World:
    """Two processes that hand each other tuples; each that is done may cause others."""

    def __init__(self, causes: list[int]) -> None:
        self.done, self.sent = [0, 0], [1, 0]
        self.flying = [1]
        self._causes = causes

    def step(self) -> None:
        if self.flying:
            there = self.flying.pop(0)
            for _ in range(self._causes.pop() if self._causes else 0):
                self.sent[there] += 1
                self.flying.append(1 - there)
            self.done[there] += 1

    def reading(self, part: int) -> Reading:
        return reading(self.done[part], self.sent[part])


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=60))
def test_census_never_finds_quiet_what_is_not(causes: list[int], script: list[int]) -> None:
    """Whenever the parts are read while tuples go to and fro."""
    world, census = World(causes), Census(range(2))
    round = census.begin()
    for action in script:
        if action == 2:
            world.step()
        else:
            census.answer(round, action, world.reading(action))
        if census.is_complete:
            if census.is_quiet:
                assert world.flying == []
            round = census.begin()
