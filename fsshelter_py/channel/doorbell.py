"""Waking a sleeping executor with ZeroMQ inproc messages.

Thread contract. The switchboard owns the doorbells' one context and the one socket that rings; every use of that socket
is under its lock, so any thread may ring. A doorbell's socket is made and bound by the thread that builds the runtime,
before the switchboard connects to it and before the executor's thread starts; from then on only that thread receives
on it and closes it. The context is freed by whoever closes the last socket, after ``term``: a thread that is stuck in
user code when its runtime is given up closes its own when it comes back.

One ringing ROUTER serves all endpoints, instead of a PUSH socket for each: a socket costs a file descriptor, and a
runtime may have a thousand tasks. A ring that finds nobody asleep is never sent (the mailbox sees to that), so the lock
is not contended.

Where there are other processes, a doorbell may have an address for them, an ipc endpoint of the same socket. Rings are
empty messages, letters are not; a letter wakes its executor as a ring does, and is received by no other thread: handing
it on between threads would cost two fights for the interpreter.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import zmq

from fsshelter_py.errors import FsShelterError

__all__ = ["Doorbell", "Switchboard"]

_RECEIVE_TIMEOUT_MS = 100
_MOST_LETTERS = 64


class Doorbell:
    """The end an executor sleeps on: one socket, bound to the endpoint of each of its tasks."""

    def __init__(
        self,
        socket: zmq.Socket[bytes],
        endpoints: Sequence[str],
        closed: Callable[[], None],
        address: str | None = None,
    ) -> None:
        """``closed`` is called once it is closed. address: where letters come to, from other processes."""
        self.socket = socket
        self._closed = closed
        self.endpoints = tuple(endpoints)
        self._letters: list[bytes] = []
        self._events: Callable[[], Any] = partial(socket.get, zmq.EVENTS)
        self._timeout = _RECEIVE_TIMEOUT_MS
        socket.setsockopt(zmq.RCVTIMEO, self._timeout)
        for endpoint in (*self.endpoints, *([address] if address is not None else [])):
            socket.bind(endpoint)

    def wait(self, timeout_ms: int = _RECEIVE_TIMEOUT_MS) -> bool:
        """Receive one ring or letter, for 100 ms at most; False when none came. A letter is kept."""
        timeout = min(max(timeout_ms, 0), _RECEIVE_TIMEOUT_MS)
        if timeout != self._timeout:
            self.socket.setsockopt(zmq.RCVTIMEO, timeout)
            self._timeout = timeout
        try:
            self.keep(self.socket.recv())
        except zmq.Again:
            return False
        return True

    def keep(self, message: bytes) -> None:
        """A message was received; a ring has done its work by that."""
        if message:
            self._letters.append(message)

    def kept(self) -> list[bytes]:
        """The letters received, each once."""
        letters, self._letters = self._letters, []
        return letters

    def collect(self) -> list[bytes]:
        """The letters received, and some that have come meanwhile; never waits."""
        # To ask first takes half the time of an exception, which is how a receive says that there is nothing.
        while len(self._letters) < _MOST_LETTERS and self._events() & zmq.POLLIN:
            self.keep(self.socket.recv(zmq.NOBLOCK))
        return self.kept()

    def close(self) -> None:
        """Free the socket; by the thread that receives on it."""
        if not self.socket.closed:
            self.socket.close(linger=0)
            self._closed()


class Switchboard:
    """The context of one runtime's doorbells, and the socket that rings any of them."""

    def __init__(self, sockets: int, *, has_letters: bool = False) -> None:
        """``sockets``: how many doorbells there will be. has_letters: whether any will have an address.

        Raises ``FsShelterError``, as ``doorbell`` does, where the process may open no more files.
        """
        self._wanted = sockets
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=int(has_letters))
        self._context.set(zmq.MAX_SOCKETS, sockets + 16)
        self._lock = threading.Lock()
        self._open = True
        self._bells = 0
        self._ringer = self._socket(zmq.ROUTER)

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        try:
            socket = self._context.socket(kind)
        except zmq.ZMQError as error:
            if kind == zmq.ROUTER:  # nobody has the switchboard yet, to free the context
                self._context.term()
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            raise FsShelterError(
                f"{self._wanted} executors take a file descriptor each, and the process may open no more: raise "
                "`ulimit -n`, or have fewer threads, by placement='shared' or .with_executors(n)"
            ) from error
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.setsockopt(zmq.RCVHWM, 0)
        return socket

    def doorbell(self, endpoints: Sequence[str], address: str | None = None) -> Doorbell:
        """A new doorbell, bound to these endpoints and its address; connect to them only after this."""
        socket = self._socket(zmq.DEALER)
        with self._lock:
            self._bells += 1
        return Doorbell(socket, endpoints, self._bell_closed, address)

    def connect(self, endpoint: str) -> Callable[[], None]:
        """A function that rings the doorbell bound to this endpoint, from any thread, without ever blocking."""
        peer = endpoint.encode()
        frames = [peer, b""]
        with self._lock:
            self._ringer.setsockopt(zmq.CONNECT_ROUTING_ID, peer)
            self._ringer.connect(endpoint)
        lock, send = self._lock, self._ringer.send_multipart

        def ring() -> None:
            with lock:
                if self._open:
                    send(frames, zmq.NOBLOCK)

        return ring

    def term(self) -> None:
        """Stop ringing, and free the context once every doorbell is closed. Rings after this are ignored."""
        with self._lock:
            if self._open:
                self._open = False
                self._ringer.close(linger=0)
                self._free()

    @property
    def is_freed(self) -> bool:
        return bool(self._context.closed)

    def _bell_closed(self) -> None:
        with self._lock:
            self._bells -= 1
            self._free()

    def _free(self) -> None:
        if not self._open and self._bells == 0:
            self._context.term()
