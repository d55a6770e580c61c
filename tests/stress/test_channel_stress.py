"""Many producers and one consumer, with threads: nothing lost, doubled or overtaken, and nobody sleeps for ever.

The time limits are watchdogs: they bound a test that has lost a wake, and say nothing of speed.
"""

import itertools
import threading
from typing import Any

import pytest

from fsshelter_py.channel import Channel, Doorbell, Mailbox, Switchboard

WATCHDOG_SECS = 60


class Worker:
    """A thread that sleeps on a doorbell, as an executor does, but never wakes by itself."""

    def __init__(self, board: Switchboard, name: str, capacity: int, channels: int = 1) -> None:
        endpoints = [f"inproc://{name}-{i}" for i in range(channels)]
        self.bell: Doorbell = board.doorbell(endpoints)
        rings = [board.connect(endpoint) for endpoint in endpoints]
        self.mailbox = Mailbox(self.bell, rings[0])
        self.channels = [
            Channel((name, i), self.mailbox, capacity, endpoint=endpoint, ring=ring)
            for i, (endpoint, ring) in enumerate(zip(endpoints, rings, strict=True))
        ]
        self.lost_wakes = 0

    def sleep(self) -> None:
        """Sleep until rung. A hundred receives of 100 ms without a ring, while there is work: a wake was lost."""
        if not self.mailbox.doze():
            return
        for _ in range(100):
            if self.bell.wait():
                break
        else:
            self.lost_wakes += 1
        self.mailbox.rise()


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG_SECS)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize(("producers", "capacity", "channels"), [(8, 1, 1), (4, 3, 2), (16, 8, 3)])
def test_many_producers_lose_double_and_reorder_nothing(producers: int, capacity: int, channels: int) -> None:
    """Each producer keeps what was refused, as an executor does, and sleeps until it is poked."""
    count = 1500
    board = Switchboard(producers + 1)
    consumer = Worker(board, "consumer", capacity, channels)
    workers = [Worker(board, f"producer-{i}", 1) for i in range(producers)]
    received: dict[tuple[int, int], list[int]] = {(p, c): [] for p in range(producers) for c in range(channels)}
    controls: dict[tuple[int, int], list[int]] = {key: [] for key in received}

    def produce(index: int) -> None:
        me = workers[index]
        waiting: dict[int, list[Any]] = {c: [] for c in range(channels)}
        for n in range(count):
            channel = n % channels
            waiting[channel].append((index, n, [n] * (1 + n % 3)))
            if n % 10 == 0:
                consumer.channels[channel].put((index, n))
            while any(waiting.values()):
                for c, bundles in waiting.items():
                    del bundles[: consumer.channels[c].offer(bundles, me.mailbox)]
                if n % 5 or not any(waiting.values()):
                    break
                me.mailbox.take()
                me.sleep()
        while any(waiting.values()):
            for c, bundles in waiting.items():
                del bundles[: consumer.channels[c].offer(bundles, me.mailbox)]
            if any(waiting.values()):
                me.sleep()
        me.bell.close()

    def consume() -> None:
        left, held = producers * (count + count // 10), None
        for turn in itertools.count():
            for (_, channel), control, data in consumer.mailbox.take():
                for index, n in control:
                    controls[index, channel].append(n)
                for index, n, tuples in data:
                    assert tuples == [n] * (1 + n % 3)
                    received[index, channel].append(n)
                left -= len(control) + len(data)
            if not left:
                break
            if held is not None:
                held.open()
                held = None
            elif turn % 7 == 0:  # now and then it holds a channel back for a turn
                held = consumer.channels[turn % channels]
                held.close()
            else:
                consumer.sleep()
        consumer.bell.close()

    run_all(
        [threading.Thread(target=consume), *(threading.Thread(target=produce, args=(i,)) for i in range(producers))]
    )
    board.term()
    for (index, channel), ns in received.items():
        assert ns == list(range(channel, count, channels))
        assert controls[index, channel] == [n for n in ns if n % 10 == 0]
    assert consumer.lost_wakes == 0
    assert not any(worker.lost_wakes for worker in workers)


def test_no_wake_is_lost_when_two_executors_pass_one_token() -> None:
    """Both sleep most of the time: each put has to wake the other."""
    rounds = 2000
    board = Switchboard(2)
    workers = [Worker(board, f"worker-{i}", 1) for i in range(2)]

    def serve(index: int) -> None:
        me, other = workers[index], workers[1 - index]
        seen = 0
        while seen < rounds:
            for _, control, _ in me.mailbox.take():
                for token in control:
                    assert token == 2 * seen + index
                    seen += 1
                    if token + 1 < 2 * rounds:
                        other.channels[0].put(token + 1)
            if seen < rounds:
                me.sleep()
        me.bell.close()

    workers[0].channels[0].put(0)
    run_all([threading.Thread(target=serve, args=(i,)) for i in range(2)])
    board.term()
    assert workers[0].lost_wakes == workers[1].lost_wakes == 0


def test_pokes_from_many_threads_wake_a_sleeper() -> None:
    """A poke that finds it awake keeps it awake for one turn more: the last of them is always seen."""
    board = Switchboard(1)
    sleeper = Worker(board, "sleeper", 1)
    flags = [False] * 8
    go = threading.Barrier(9)

    def poke(index: int) -> None:
        for _ in range(200):
            go.wait(WATCHDOG_SECS)
            flags[index] = True
            sleeper.mailbox.poke()

    def serve() -> None:
        for _ in range(200):
            go.wait(WATCHDOG_SECS)
            while not all(flags):
                sleeper.sleep()
            flags[:] = [False] * 8
        sleeper.bell.close()

    run_all([threading.Thread(target=serve), *(threading.Thread(target=poke, args=(i,)) for i in range(8))])
    board.term()
    assert sleeper.lost_wakes == 0
