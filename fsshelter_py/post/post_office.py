"""One process's end of the ZeroMQ ipc sockets between the worker processes of a topology.

Each process binds one PULL socket, and connects a PUSH socket to that of every process it sends to, its own too. A
letter is a function's name and its arguments; between two processes letters arrive in the order sent. Data, acker
messages and credit share the sockets: none waits behind data for longer than it takes to read it, for the postman never
waits for room (see ``Credit``), and what is on its way is bounded by the credit.

Thread contract. One thread, the postman, receives. Each PUSH socket is used under a lock of its own, so that any thread
may send and no letter has to wait until a postman has the interpreter: a send only hands the letter to ZeroMQ's own
thread, and never blocks (no high-water mark). ``close`` comes after the postman has ended; sends after it are ignored.

The sockets are files in a directory that only this user may enter, because letters are unpickled.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping
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
        self._inbox = self._socket(zmq.PULL)
        self._inbox.setsockopt(zmq.RCVTIMEO, _IDLE_MS)
        self._inbox.bind(self._endpoint(me))
        self._ended = False
        self._lock = threading.Lock()
        self._outboxes: dict[int, tuple[threading.Lock, zmq.Socket[bytes]]] = {}

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.setsockopt(zmq.RCVHWM, 0)
        return socket

    def _endpoint(self, worker: int) -> str:
        return f"ipc://{self._directory}/{worker}"

    def _outbox(self, worker: int) -> tuple[threading.Lock, zmq.Socket[bytes]]:
        """The way to a process that has bound its socket."""
        with self._lock:
            if worker not in self._outboxes:
                socket = self._socket(zmq.PUSH)
                socket.connect(self._endpoint(worker))
                self._outboxes[worker] = threading.Lock(), socket
            return self._outboxes[worker]

    # --- any thread -------------------------------------------------------------------------------------------------

    def tell(self, worker: int, name: str, *arguments: Any) -> None:
        """Have another process call one of its functions. Raises what keeps an argument from being packed."""
        self._send(worker, pack((name, arguments)))

    def tell_plainly(self, worker: int, name: str, *arguments: Any) -> None:
        """The same, faster, for arguments of built-in types."""
        self._send(worker, pickle.dumps((name, arguments), protocol=5))

    def _send(self, worker: int, letter: bytes) -> None:
        lock, socket = self._outboxes.get(worker) or self._outbox(worker)
        with lock:
            if not socket.closed:
                socket.send(letter, zmq.NOBLOCK)

    # --- the postman ------------------------------------------------------------------------------------------------

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
                name, arguments = unpack(letter)
                functions[name](*arguments)
            except BaseException as error:
                on_exception(error)

    def end(self) -> None:
        """End ``serve`` after the present letter; to be called by the postman, as by a letter to oneself."""
        self._ended = True

    def close(self, linger_ms: int = 0) -> None:
        """Free the sockets, once the last letters are delivered; they are given so long, at most."""
        for lock, socket in self._outboxes.values():
            with lock:
                socket.close(linger=linger_ms)
        self._inbox.close()
        self._context.term()
