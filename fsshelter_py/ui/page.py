"""The page's socket, and the thread that serves it."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Self

import uvicorn

from fsshelter_py.ui.app import application
from fsshelter_py.ui.snapshot import Watched, has_ended

__all__ = ["Page", "serve"]

_WATCH_SECS = 0.1
_LAST_SECS = 1


def serve(hosted: Watched, host: str = "127.0.0.1", port: int = 8080) -> Page:
    """Show a hosted topology at that address, in a thread of its own, until it has ended or the page is closed.

    port: 0 for any that is free; the result's ``url`` has it. Raises ``OSError`` where it cannot listen there.
    """
    return Page(host, port).show(hosted)


class Page:
    """A page at an address that is taken at once; a context manager that closes it.

    Taken before there is something to show, so that a run need not be started to find that it cannot be watched.
    Raises ``OSError`` where it cannot listen there.

    Thread contract: ``show`` and ``close`` are called by one thread. The page's own reads the hosted topology, and ends
    with it.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8080) -> None:
        self._socket = _listening(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}/"
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def show(self, hosted: Watched) -> Self:
        """Show this, once."""
        self._thread = threading.Thread(target=self._run, args=(hosted,), name="fsshelter-ui", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Tell those who watch the last counts, and end; the address is free again."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, hosted: Watched) -> None:
        try:
            asyncio.run(self._serve(hosted))
        finally:
            self._socket.close()

    async def _serve(self, hosted: Watched) -> None:
        over = asyncio.Event()
        server = uvicorn.Server(
            uvicorn.Config(
                application(hosted, over),
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,  # its loggers are the whole process's: leave them as the program has them
                server_header=False,
                timeout_graceful_shutdown=_LAST_SECS,
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[self._socket]))
        while not (serving.done() or self._closed.is_set() or has_ended(hosted)):
            await asyncio.sleep(_WATCH_SECS)
        over.set()
        server.should_exit = True
        await serving


def _listening(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family)
