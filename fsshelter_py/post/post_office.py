"""One process's end of the ZeroMQ ipc sockets between the worker processes of a topology.

A letter is some calls: names of functions, with their arguments. It goes to an address, a file of the topology's
directory. Each process has one for what concerns it as a whole, its number, where the postman receives. An executor may
have one of its own, at its doorbell, for data, acks and credit. To one address, letters arrive in the order sent.
Nobody waits for room (see ``Credit``), and what is on its way is bounded by the credit.

Thread contract. One thread, the postman, receives here. Each sending socket is used under a lock of its own, so that
any thread may send and no letter has to wait until another thread has the interpreter: a send only hands the letter to
ZeroMQ's own thread, and never blocks (no high-water mark). ``close`` comes after the postman has ended; sends after it
are ignored. The context is not that of the doorbells: a thread that is stuck in user code keeps theirs from being
freed, and this one has to be, for the last letters to arrive.

The sockets are files in a directory that only this user may enter, because letters are unpickled.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import zmq

from fsshelter_py.post.packing import pack, unpack

__all__ = ["PostOffice"]

_IDLE_MS = 250


class PostOffice:
    """Sends letters to the processes of a topology, and receives those for this one."""

    def __init__(self, directory: Path, me: int) -> None:
        """me: the number of this process; the socket is bound at once."""
        self.me = me
        self._directory = directory
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._inbox = self._socket()
        self._inbox.setsockopt(zmq.RCVTIMEO, _IDLE_MS)
        self._inbox.bind(self.endpoint(str(me)))
        self._ended = self._closed = False
        self._lock = threading.Lock()
        self._outboxes: dict[str, tuple[threading.Lock, zmq.Socket[bytes]]] = {}

    def _socket(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.setsockopt(zmq.RCVHWM, 0)
        return socket

    def endpoint(self, address: str) -> str:
        """The ZeroMQ endpoint of an address: what a DEALER that receives its letters is bound to."""
        return f"ipc://{self._directory}/{address}"

    def _outbox(self, address: str) -> tuple[threading.Lock, zmq.Socket[bytes]] | None:
        """The way to an address, whose socket is bound; none once this end is closed."""
        with self._lock:
            if address not in self._outboxes:
                if self._closed:  # a socket made now would keep the context from ever being freed
                    return None
                socket = self._socket()
                socket.connect(self.endpoint(address))
                self._outboxes[address] = threading.Lock(), socket
            return self._outboxes[address]

    # --- any thread -------------------------------------------------------------------------------------------------

    def tell(self, worker: int, name: str, *arguments: Any) -> None:
        """Have another process call one of its functions. Raises what keeps an argument from being packed."""
        self._send(str(worker), pack([(name, *arguments)]))

    def send(self, address: str, calls: Sequence[tuple[Any, ...]]) -> None:
        """Have functions called, with arguments of built-in types: names and arguments."""
        self._send(address, pickle.dumps(calls, protocol=5))

    def _send(self, address: str, letter: bytes) -> None:
        outbox = self._outboxes.get(address) or self._outbox(address)
        if outbox is None:
            return
        lock, socket = outbox
        with lock:
            if not socket.closed:
                socket.send(letter, zmq.NOBLOCK)

    # --- who receives -----------------------------------------------------------------------------------------------

    @staticmethod
    def read(letter: bytes) -> Sequence[tuple[Any, ...]]:
        """The calls of a letter."""
        calls: Sequence[tuple[Any, ...]] = unpack(letter)
        return calls

    def serve(
        self,
        functions: Mapping[str, Callable[..., None]],
        on_exception: Callable[[BaseException], None],
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        """Call these functions as letters ask for it, until ``end``; ``on_idle`` now and then when none come."""
        while not self._ended:
            try:
                letter = self._inbox.recv()
            except zmq.Again:
                on_idle()
                continue
            try:
                for name, *arguments in self.read(letter):
                    functions[name](*arguments)
            except BaseException as error:
                on_exception(error)

    def end(self) -> None:
        """End ``serve`` after the present letter; to be called by the postman, as by a letter to oneself."""
        self._ended = True

    def close(self, linger_ms: int = 0) -> None:
        """Free the sockets, once the last letters are delivered; they are given so long, at most."""
        with self._lock:
            self._closed = True
        for lock, socket in self._outboxes.values():
            with lock:
                socket.close(linger=linger_ms)
        self._inbox.close()
        self._context.term()
