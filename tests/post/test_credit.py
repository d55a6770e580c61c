"""Credit between processes: bounded, and never used up for good."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.channel import Channel, Mailbox
from fsshelter_py.post import Credit, Debt


def bundles(*sizes: int) -> list[tuple[Any, ...]]:
    return [("leg", None, 0, list(range(size))) for size in sizes]


def mailbox() -> Mailbox:
    return Mailbox(None, lambda: None)


def channel_of(capacity: int) -> Channel:
    return Channel("owner", mailbox(), capacity, endpoint="", ring=lambda: None)


def test_bundles_are_sent_while_there_is_credit() -> None:
    """One bundle may go beyond it, as in a ring."""
    credit, me = Credit(4), mailbox()
    assert credit.draw(bundles(3, 3, 1), me) == 2
    assert credit.draw(bundles(1), me) == 0
    assert not me.poked
    credit.repay(3)
    assert me.poked
    assert credit.draw(bundles(1, 1), me) == 1


def test_what_is_taken_is_repaid_by_halves() -> None:
    """A letter for each take would be too many."""
    repaid: list[int] = []
    channel = channel_of(4)
    debt = Debt(channel, repaid.append)
    debt.receive(bundles(1), 1)
    channel.mailbox.take()
    assert repaid == []
    debt.receive(bundles(1), 1)
    assert repaid == []
    channel.mailbox.take()
    assert repaid == [2]


def test_nothing_is_repaid_while_a_channel_is_closed() -> None:
    """Its task may not be fed, so its senders have to wait."""
    repaid: list[int] = []
    channel = channel_of(1)
    debt = Debt(channel, repaid.append)
    channel.close()
    debt.receive(bundles(1), 1)
    channel.mailbox.take()
    assert repaid == []
    channel.open()
    channel.mailbox.take()
    assert repaid == [1]


class Way:
    """A sender, a receiver, and all that is on its way between them, moved on step by step."""

    def __init__(self, capacity: int, sizes: list[int]) -> None:
        self.left = [("leg", None, number, [number] * size) for number, size in enumerate(sizes)]
        self.arrived: list[Any] = []
        self.channel = channel_of(capacity)
        self._credit, self._me = Credit(capacity), mailbox()
        self._letters: list[list[Any]] = []
        self._repayments: list[int] = []
        self._debt = Debt(self.channel, self._repayments.append)

    def send(self) -> None:
        sent = self._credit.draw(self.left, self._me)
        if sent:  # an empty letter is never posted, and would hold up those behind it here
            self._letters.append(self.left[:sent])
        self.left = self.left[sent:]

    def deliver(self) -> None:
        if self._letters:
            some = self._letters.pop(0)
            self._debt.receive(some, sum(len(bundle[-1]) for bundle in some))

    def take(self) -> None:
        self.arrived += [bundle for _, _, found in self.channel.mailbox.take() for bundle in found]

    def repay(self) -> None:
        if self._repayments:
            self._credit.repay(self._repayments.pop(0))


@given(st.integers(1, 6), st.lists(st.integers(1, 4), max_size=40), st.lists(st.integers(0, 3), max_size=60))
def test_everything_arrives_in_order_and_the_ring_stays_bounded(
    capacity: int, sizes: list[int], script: list[int]
) -> None:
    """Whatever the order of sends, deliveries, takes and repayments; in the end each gets its turn."""
    way = Way(capacity, sizes)
    moves = (way.send, way.deliver, way.take, way.repay)
    for move in (*(moves[action] for action in script), *moves * (3 * len(sizes))):
        move()
        assert way.channel.count <= 2 * capacity + 4
    assert [bundle[2] for bundle in way.arrived] == list(range(len(sizes)))
