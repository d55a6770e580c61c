"""Channels and the mailbox of one executor, by plain calls."""

from typing import Any

import pytest

from fsshelter_py.channel import Channel, Mailbox


class Bell:
    """Counts rings."""

    def __init__(self) -> None:
        self.rings = 0

    def __call__(self) -> None:
        self.rings += 1


def joined(capacity: int = 4, count: int = 1) -> tuple[Mailbox, list[Channel], Bell]:
    """A mailbox and its channels, called 0, 1, …"""
    bell = Bell()
    mailbox = Mailbox(None, bell)
    return mailbox, [Channel(i, mailbox, capacity, endpoint=f"inproc://{i}", ring=bell) for i in range(count)], bell


def bundle(*tuples: Any) -> tuple[Any, ...]:
    return ("leg", 1, 2, list(tuples))


def test_take_gives_control_and_data_of_each_channel_that_has_some() -> None:
    """In the order in which they got the first of it, and once."""
    mailbox, (first, second, third), _ = joined(count=3)
    me = joined()[0]
    assert second.offer([bundle("a")], me) == 1
    first.put("start")
    second.put("stop")
    second.offer([bundle("b", "c")], me)
    assert mailbox.take() == [(1, ["stop"], [bundle("a"), bundle("b", "c")]), (0, ["start"], [])]
    assert mailbox.take() == []
    assert third.count == second.count == 0


def test_what_was_taken_does_not_change_when_more_is_put() -> None:
    """Neither lane is the live list, not even an empty one: what is put later would be handled twice."""
    mailbox, (channel,), _ = joined()
    me = joined()[0]
    channel.offer([bundle("a")], me)
    ((_, control, data),) = mailbox.take()
    channel.put("late")
    channel.offer([bundle("later")], me)
    assert (control, data) == ([], [bundle("a")])
    ((_, control, data),) = mailbox.take()
    channel.put("last")
    assert (control, data) == (["late"], [bundle("later")])


def test_ring_takes_bundles_until_it_holds_its_capacity() -> None:
    """Tuples count, not bundles; the one that reaches the capacity is still taken, so that no bundle is too big."""
    _, (channel,), _ = joined(capacity=4)
    me = joined()[0]
    assert channel.offer([bundle(1, 2, 3), bundle(4, 5, 6), bundle(7)], me) == 2
    assert channel.count == 6
    assert channel.offer([bundle(7)], me) == 0
    assert joined(capacity=1)[1][0].offer([bundle(*range(100))], me) == 1


def test_refused_producer_is_poked_at_the_next_take() -> None:
    """Once; a poke keeps it from sleeping."""
    mailbox, (channel,), _ = joined(capacity=1)
    me, _, bell = joined()
    assert channel.offer([bundle(1), bundle(2)], me) == 1
    assert me.doze()
    mailbox.take()
    assert bell.rings == 1
    assert not me.poked or not me.doze()
    me.rise()
    mailbox.take()
    channel.put("control")
    mailbox.take()
    assert bell.rings == 1


def test_control_never_waits_for_room() -> None:
    """However full the ring."""
    mailbox, (channel,), _ = joined(capacity=1)
    channel.offer([bundle(1)], joined()[0])
    for n in range(100):
        channel.put(n)
    assert mailbox.take() == [(0, list(range(100)), [bundle(1)])]


def test_closed_channel_keeps_its_data_and_gives_its_control() -> None:
    """Its producers are refused once it is full, and hear of room only after it was opened and taken from."""
    mailbox, (channel,), _ = joined(capacity=1)
    me, _, bell = joined()
    channel.close()
    assert channel.offer([bundle(1), bundle(2)], me) == 1
    assert mailbox.take() == []
    channel.put("control")
    assert mailbox.take() == [(0, ["control"], [])]
    assert me.doze()
    assert bell.rings == 0
    channel.open()
    assert mailbox.take() == [(0, [], [bundle(1)])]
    assert bell.rings == 1


def test_data_in_a_closed_channel_lets_its_executor_sleep() -> None:
    """There is nothing it could do with it; opening keeps it awake."""
    mailbox, (channel,), _ = joined()
    channel.close()
    channel.offer([bundle(1)], joined()[0])
    assert mailbox.doze()
    mailbox.rise()
    channel.open()
    assert not mailbox.doze()


@pytest.mark.parametrize("wake", ["put", "offer", "poke"])
def test_sleeper_is_rung_once(wake: str) -> None:
    """By whatever comes first; what comes after finds it awake."""
    mailbox, (channel,), bell = joined()
    me = joined()[0]
    assert mailbox.doze()
    for _ in range(3):
        if wake == "put":
            channel.put("control")
        elif wake == "offer":
            channel.offer([bundle(1)], me)
        else:
            mailbox.poke()
    assert bell.rings == 1


@pytest.mark.parametrize("wake", ["put", "offer", "poke"])
def test_what_comes_while_awake_keeps_it_from_sleeping(wake: str) -> None:
    """A poke once, what is queued until it is taken; nobody rings."""
    mailbox, (channel,), bell = joined()
    if wake == "put":
        channel.put("control")
    elif wake == "offer":
        channel.offer([bundle(1)], joined()[0])
    else:
        mailbox.poke()
    assert not mailbox.doze()
    assert mailbox.doze() == (wake == "poke")
    assert bell.rings == 0
    mailbox.rise()
    mailbox.take()
    assert mailbox.doze()


def test_empty_offer_does_nothing() -> None:
    """It wakes nobody and waits for nothing."""
    mailbox, (channel,), bell = joined(capacity=1)
    me = joined()[0]
    assert mailbox.doze()
    assert channel.offer([], me) == 0
    assert bell.rings == 0
    assert not channel.waiters
