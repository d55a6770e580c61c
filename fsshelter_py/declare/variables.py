"""Which local variables of a topology function hold its components: that is where their names come from."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, GeneratorType
from typing import Any

from fsshelter_py.model.component import Bolt, Spout

__all__ = ["Variables"]


class Variables:
    """Watches the frames of a running generator, and of those it yields from.

    The frames are read at every yield, since a variable may hold another component by the next one, and once more at
    the end, for what was assigned after the last: a frame that is referred to keeps its variables when it returns.
    """

    def __init__(self) -> None:
        self._depths: dict[FrameType, int] = {}
        self._found: dict[Spout | Bolt, tuple[int, str]] = {}
        self._local: dict[Spout | Bolt, None] = {}

    def watch(self, generator: GeneratorType[Any, Any, Any]) -> Iterator[tuple[object, int]]:
        """Run the generator; gives what it yields, and the number of the line that does."""
        for item in generator:
            inner: object = generator
            line = 0
            depth = 0
            while isinstance(inner, GeneratorType) and inner.gi_frame is not None:
                self._depths.setdefault(inner.gi_frame, depth)
                line, depth, inner = inner.gi_frame.f_lineno, depth + 1, inner.gi_yieldfrom
            self._read()
            yield item, line
        self._read()

    @property
    def names(self) -> dict[Spout | Bolt, str]:
        """Each component by the variable that held it first: the outermost one, where several functions held it."""
        return {component: name for component, (_, name) in self._found.items()}

    @property
    def local(self) -> tuple[Spout | Bolt, ...]:
        """The components that were assigned in the functions themselves, not merely seen from an enclosing one."""
        return tuple(self._local)

    def _read(self) -> None:
        for frame, depth in self._depths.items():
            for variable, value in frame.f_locals.items():
                if not isinstance(value, (Spout, Bolt)):
                    continue
                if value not in self._found or depth < self._found[value][0]:
                    self._found[value] = (depth, variable)
                if variable not in frame.f_code.co_freevars:
                    self._local[value] = None
