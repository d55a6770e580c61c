"""What a worker process is sent: its share of a topology.

Only what has a task there is sent whole. So a spout whose source lives in the main process, or a bolt that writes to a
file opened there, needs nothing that can be packed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from fsshelter_py.build.assignment import Assignment, assign
from fsshelter_py.errors import TopologyError
from fsshelter_py.model.component import Bolt, Spout
from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.topology import Stream, Topology
from fsshelter_py.post import pack

__all__ = ["Share", "check_shares", "files_of_modules", "packed_share"]


@dataclass(frozen=True, slots=True)
class Share:
    """A topology, of which only what concerns one worker is whole, and where its tasks are.

    rest: what else its process has to know.
    """

    name: str
    spouts: dict[ComponentId, Spout]
    bolts: dict[ComponentId, Bolt]
    streams: tuple[Stream, ...]
    options: dict[str, Any]
    forced: dict[str, Any]
    assignment: Assignment
    rest: dict[str, Any]

    @property
    def topology(self) -> Topology:
        """As a topology."""
        return Topology(self.name, self.spouts, self.bolts, self.streams, self.options, self.forced)


def packed_share(topology: Topology, assignment: Assignment, here: set[ComponentId], **rest: Any) -> bytes:
    """The share of a worker that has tasks of the components ``here``, as bytes.

    Raises ``TopologyError`` naming the components that cannot be packed.
    """
    share = Share(
        topology.name,
        {name: spout if name in here else _outline_of_spout(spout) for name, spout in topology.spouts.items()},
        {name: bolt if name in here else _outline_of_bolt(bolt) for name, bolt in topology.bolts.items()},
        tuple(_seen_from(here, stream) for stream in topology.streams),
        dict(topology.options),
        dict(topology.forced),
        assignment,
        rest,
    )
    try:
        return pack(share)
    except Exception as error:
        problems = list(_problems(share)) or [f"it cannot be sent to a worker process: {_brief(error)}"]
        raise TopologyError(topology.name, problems) from error


def check_shares(topology: Topology) -> None:
    """Raise ``TopologyError`` where what has a task in a worker process cannot be sent there; starts none."""
    assignment = assign(topology)
    problems: dict[str, None] = {}
    for worker in range(1, assignment.workers):
        try:
            packed_share(topology, assignment, assignment.components_of(worker))
        except TopologyError as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        raise TopologyError(topology.name, list(problems))


def _problems(share: Share) -> Iterator[str]:
    parts = [(f"spout {name!r}", spout) for name, spout in share.spouts.items()]
    parts += [(f"bolt {name!r}", bolt) for name, bolt in share.bolts.items()]  # type: ignore[misc]
    parts += [(f"stream {stream}", stream) for stream in share.streams]  # type: ignore[misc]
    parts += [("its options", share.options), ("its options", share.forced)]  # type: ignore[list-item]
    for what, part in parts:
        try:
            pack(part)
        except Exception as error:
            yield (
                f"{what} cannot be sent to a worker process: {_brief(error)}; make what it needs in make_args, "
                "or give it one task, which stays in the main process"
            )


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _outline_of_spout(spout: Spout) -> Spout:
    return replace(spout, next=None, items=None, make_args=None, make_acker=None, deactivate=None, backoff=None)


def _outline_of_bolt(bolt: Bolt) -> Bolt:
    return replace(bolt, consume=_elsewhere, make_args=None, deactivate=None, activation=None, deactivation=None)


def _elsewhere(*_: Any) -> None:
    """Stands for the function of a bolt of other processes."""


def _seen_from(here: set[ComponentId], stream: Stream) -> Stream:
    """Who only receives need not know how it is chosen; who does neither need not know the class."""
    if stream.source in here:
        return stream
    grouping = replace(stream.grouping, key=None, choose=None)
    if stream.target in here:
        return replace(stream, grouping=grouping)
    return replace(stream, cls=object, grouping=replace(grouping, cls=object))


def files_of_modules(packed: bytes) -> dict[str, str]:
    """The files of modules that are named in there and that an import elsewhere would not find, by module.

    A topology file loaded under a name of its own is such a module.
    """
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and file and file.endswith(".py") and name.encode() in packed and not _is_found(module):
            found[name] = file
    return found


def _is_found(module: ModuleType) -> bool:
    parent, _, _ = module.__name__.rpartition(".")
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    if parent and path is None:
        return False
    try:
        spec = PathFinder.find_spec(module.__name__, path)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin == module.__file__
