"""Showing a run in the browser, where ``--ui`` asks for it. The extra ``ui`` is needed then, and only then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import structlog

from fsshelter_py.cli.problem import Problem
from fsshelter_py.host import Hosted
from fsshelter_py.model.topology import Topology

__all__ = ["Address", "shown_at"]

Host: TypeAlias = Callable[[Topology], Hosted]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Self:
        """From ``8080``, ``0.0.0.0:8080`` or ``[::1]:8080``; this machine alone where no host is given.

        Raises ``ValueError``.
        """
        before, colon, after = text.rpartition(":")
        host = before.removeprefix("[").removesuffix("]") if colon else "127.0.0.1"
        if not host or not (after.isascii() and after.isdigit()) or int(after) > 65535:
            raise ValueError(f"expected a port such as 8080, or a host before it as in 0.0.0.0:8080; got {text!r}")
        return cls(host, int(after))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@contextmanager
def shown_at(address: Address | None) -> Iterator[Callable[[Host], Host]]:
    """Gives a host whose topology is shown at the address from its start; the page is closed at the end.

    The address is taken before anything runs. Raises ``Problem`` where that fails, or where the extra is missing.
    """
    if address is None:
        yield lambda host: host
        return
    try:
        from fsshelter_py.ui import Page
    except ImportError as error:
        raise Problem(f"--ui: {error}", cause=error) from error
    try:
        page = Page(address.host, address.port)
    except (OSError, UnicodeError) as error:
        message = f"--ui: cannot listen at {address}: {_reason(error)}; port 0 is any that is free"
        raise Problem(message, cause=error) from error
    log: Any = structlog.get_logger()

    def shown(host: Host) -> Host:
        def hosting(topology: Topology) -> Hosted:
            hosted = host(topology)
            page.show(hosted)
            log.info("page_open", url=page.url)
            return hosted

        return hosting

    with page:
        yield shown


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # its own text repeats the address
    return str(getattr(error, "strerror", None) or error)
