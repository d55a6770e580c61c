"""What one executor has for other processes: a letter to each address, at the end of its turn."""

from __future__ import annotations

from typing import Any

from fsshelter_py.post.post_office import PostOffice

__all__ = ["Courier"]


class Courier:
    """Gathers calls by address. Belongs to the executor, and is used by its thread only."""

    __slots__ = ("_calls", "_post", "address")

    def __init__(self, post: PostOffice, address: str) -> None:
        """address: where letters for the executor come to."""
        self._post = post
        self._calls: dict[str, list[tuple[Any, ...]]] = {}
        self.address = address

    def take(self, address: str, *call: Any) -> None:
        """Take a call with it: a function's name, and arguments of built-in types."""
        calls = self._calls
        if address in calls:
            calls[address].append(call)
        else:
            calls[address] = [call]

    def leave(self) -> None:
        """Send all that it has."""
        if self._calls:
            calls, self._calls = self._calls, {}
            for address, letter in calls.items():
                self._post.send(address, letter)
