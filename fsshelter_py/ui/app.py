"""What is served: the page, ``/stats`` for programs, and ``/events``, by which the page is told every second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from fsshelter_py.ui.snapshot import Watched, graph, has_ended, snapshot

__all__ = ["application"]

_INTERVAL_SECS = 1.0

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # Names of components are the user's own: whatever they hold, the browser runs and fetches nothing but the page.
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
}


def application(hosted: Watched, over: asyncio.Event) -> Starlette:
    """The application for one hosted topology. over: set when it is to end; whoever watches is told the last then."""
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")

    async def index(_: Request) -> Response:
        return Response(page, media_type="text/html", headers=_HEADERS)

    async def stats(_: Request) -> Response:
        return Response(json.dumps(snapshot(hosted)), media_type="application/json", headers=_HEADERS)

    async def events(_: Request) -> Response:
        return StreamingResponse(_told(hosted, over), media_type="text/event-stream", headers=_HEADERS)

    return Starlette(routes=[Route("/", index), Route("/stats", stats), Route("/events", events)])


async def _told(hosted: Watched, over: asyncio.Event) -> AsyncIterator[str]:
    yield _event("graph", graph(hosted))
    while True:
        # Asked before the snapshot is taken, so that the last one sent was taken after the end.
        is_last = over.is_set() or has_ended(hosted)
        yield _event("stats", snapshot(hosted))
        if is_last:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), _INTERVAL_SECS)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
