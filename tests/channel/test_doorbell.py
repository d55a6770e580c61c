"""Doorbells and the switchboard that rings them."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from fsshelter_py.channel import Doorbell, Switchboard


@pytest.fixture
def board() -> Iterator[Switchboard]:
    board = Switchboard(4)
    yield board
    board.term()


def closing(bells: list[Doorbell]) -> None:
    for bell in bells:
        bell.close()


def test_ring_of_any_endpoint_wakes_the_doorbell_bound_to_it(board: Switchboard) -> None:
    """And no other."""
    bell, other = board.doorbell(["inproc://a", "inproc://b"]), board.doorbell(["inproc://c"])
    rings = [board.connect(endpoint) for endpoint in (*bell.endpoints, *other.endpoints)]
    rings[0]()
    rings[1]()
    assert bell.wait()
    assert bell.wait()
    assert not bell.wait(0)
    assert not other.wait(0)
    closing([bell, other])


def test_rings_before_the_wait_are_kept(board: Switchboard) -> None:
    """A ring may come between the decision to sleep and the sleep."""
    bell = board.doorbell(["inproc://a"])
    ring = board.connect("inproc://a")
    ring()
    assert bell.wait(0)
    assert not bell.wait(0)
    closing([bell])


def test_ring_never_blocks_however_many_nobody_hears(board: Switchboard) -> None:
    """There is no high water mark."""
    bell = board.doorbell(["inproc://a"])
    ring = board.connect("inproc://a")
    for _ in range(5000):
        ring()
    assert all(bell.wait(0) for _ in range(5000))
    assert not bell.wait(0)
    closing([bell])


def test_ring_after_the_end_is_ignored() -> None:
    """A thread left behind may still ring; the context is freed when it closes its doorbell at last."""
    board = Switchboard(1)
    bell = board.doorbell(["inproc://a"])
    ring = board.connect("inproc://a")
    board.term()
    ring()
    assert not board.is_freed
    bell.close()
    assert board.is_freed
    ring()
    bell.close()


def test_ring_of_a_doorbell_that_is_gone_is_ignored(board: Switchboard) -> None:
    """An executor that has ended does not bring down those that ring it."""
    bell = board.doorbell(["inproc://a"])
    ring = board.connect("inproc://a")
    bell.close()
    ring()


def test_rings_from_many_threads_all_arrive(board: Switchboard) -> None:
    """The one socket that rings is shared under a lock."""
    bell = board.doorbell([f"inproc://{i}" for i in range(4)])
    rings = [board.connect(endpoint) for endpoint in bell.endpoints]

    def ring_often(index: int) -> None:
        for _ in range(500):
            rings[index % 4]()

    threads = [threading.Thread(target=ring_often, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    heard = 0
    while heard < 4000 and bell.wait():
        heard += 1
    for thread in threads:
        thread.join()
    while bell.wait(0):
        heard += 1
    assert heard == 4000
    closing([bell])


def test_letters_wake_the_doorbell_with_an_address_and_are_kept(tmp_path: Path) -> None:
    """Each once, in the order sent, whether it was waited for or had come before; rings in between are no letters."""
    board = Switchboard(1, has_letters=True)
    address = f"ipc://{tmp_path}/1"
    bell = board.doorbell(["inproc://a"], address)
    ring = board.connect("inproc://a")
    context = zmq.Context(io_threads=1)
    sender = context.socket(zmq.DEALER)
    sender.connect(address)
    received: list[bytes] = []
    for number in range(200):
        sender.send(b"%d" % number)
        if number % 7 == 0:
            ring()
        if number % 3 == 0:
            assert bell.wait()
        if number % 10 == 0:
            received += bell.collect()
    while len(received) < 200:
        assert bell.wait(100)
        received += bell.collect()
    assert received == [b"%d" % number for number in range(200)]
    assert bell.collect() == bell.kept() == []
    sender.close(linger=0)
    context.term()
    bell.close()
    board.term()
    assert board.is_freed
