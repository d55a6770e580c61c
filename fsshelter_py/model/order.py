"""The order of components along their streams, and the cycle that makes one impossible."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable

from fsshelter_py.model.ids import ComponentId

__all__ = ["cycle_of", "in_order"]

Edges = Iterable[tuple[ComponentId, ComponentId]]


def in_order(components: Iterable[ComponentId], edges: Edges) -> tuple[ComponentId, ...]:
    """The components, each after all that it receives from. Raises ``graphlib.CycleError`` where there is a cycle."""
    return tuple(_sorter(components, edges).static_order())


def cycle_of(edges: Edges) -> tuple[ComponentId, ...]:
    """One cycle, as ``(a, b, a)``; empty where there is none."""
    try:
        _sorter((), edges).prepare()
    except graphlib.CycleError as error:
        return tuple(error.args[1])
    return ()


def _sorter(components: Iterable[ComponentId], edges: Edges) -> graphlib.TopologicalSorter[ComponentId]:
    sorter = graphlib.TopologicalSorter[ComponentId]()
    for component in components:
        sorter.add(component)
    for source, target in edges:
        sorter.add(target, source)
    return sorter
