"""``@topology``: a generator function that yields streams becomes a builder of topologies."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import GeneratorType
from typing import Any, Generic, ParamSpec, TypeAlias

from fsshelter_py.build.callables import spelled, user_functions
from fsshelter_py.build.validation import validate
from fsshelter_py.declare.variables import Variables
from fsshelter_py.errors import TopologyError
from fsshelter_py.model.component import Bolt, Link, Spout, Subscription
from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.schema import is_name, is_tuple_class, stream_id
from fsshelter_py.model.topology import Stream, Topology

__all__ = ["Subscriptions", "TopologyBuilder", "topology"]

P = ParamSpec("P")

Subscriptions: TypeAlias = Iterator[Subscription]
"""What a topology function returns, for those who annotate it."""


def topology(name: str) -> Callable[[Callable[P, Iterable[Subscription]]], TopologyBuilder[P]]:
    """Turn a generator function that yields ``source >> target | grouping`` into a builder of that topology."""
    if not is_name(name):
        raise TypeError(f"@topology takes the topology's name, as in @topology('word-count'); got {name!r}")

    def decorate(function: Callable[P, Iterable[Subscription]]) -> TopologyBuilder[P]:
        return TopologyBuilder(name, function)

    return decorate


class TopologyBuilder(Generic[P]):
    """Called with the topology function's own parameters, it gives a validated, immutable ``Topology``.

    name: the topology's. parameters: the function's signature. doc: its docstring, or an empty string.
    """

    __wrapped__: Callable[P, Iterable[Subscription]]

    def __init__(self, name: str, function: Callable[P, Iterable[Subscription]]) -> None:
        if not inspect.isgeneratorfunction(function):
            raise TypeError(
                f"@topology({name!r}) expects a generator function, which yields its streams: "
                f"`yield source >> target | Shuffle.on(T)`; got {function!r}"
            )
        self.name = name
        self.parameters = inspect.signature(function)
        self.doc = inspect.getdoc(function) or ""
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Topology:
        """Build the topology. Raises ``TopologyError`` with every problem found."""
        generator = self.__wrapped__(*args, **kwargs)
        assert isinstance(generator, GeneratorType)
        variables = Variables()
        draft = _Draft(self.name)
        for item, line in variables.watch(generator):
            draft.take(item, line)
        built = draft.finish(variables)
        problems = draft.problems + validate(built, reached=draft.reached)
        if problems:
            raise TopologyError(self.name, problems)
        return built

    def __repr__(self) -> str:
        return f"<topology {self.name!r} of {self.__wrapped__.__module__}.{self.__wrapped__.__qualname__}>"


class _Draft:
    """A topology while its function runs, and the problems that only show there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[str] = []
        self.reached: set[ComponentId] = set()
        self._subscriptions: list[Subscription] = []
        self._linked: dict[Spout | Bolt, None] = {}
        self._targets: set[Bolt] = set()

    def take(self, item: object, line: int) -> None:
        """Take what the function yielded in that line."""
        if isinstance(item, (Link, Subscription)):
            self._linked |= {item.source: None, item.target: None}
            self._targets.add(item.target)
        if isinstance(item, Subscription):
            self._subscriptions.append(item)
        elif isinstance(item, Link):
            self.problems.append(
                f"the stream yielded in line {line} has no grouping: "
                "say how it is spread over the target's tasks, as in `source >> target | Shuffle.on(T)`"
            )
        else:
            hint = "; combine topologies with `first + second`" if isinstance(item, Topology) else ""
            self.problems.append(
                f"line {line} yields a {type(item).__name__}, expected `source >> target | grouping`{hint}"
            )

    def finish(self, variables: Variables) -> Topology:
        """The topology as declared, sound or not."""
        held = variables.names
        if not self._linked and not self.problems:
            self.problems.append("it yields no stream: `yield source >> target | Shuffle.on(T)` for each")
        for component in variables.local:
            if component not in self._linked:
                self.problems.append(
                    f"{_kind(component)} {component.name or held[component]!r} is not connected: "
                    "yield a stream from or to it, or remove it"
                )
        declared = [component for component in held if component in self._linked]
        names = self._names(dict.fromkeys((*declared, *self._linked)), held)
        self.reached = {names[target] for target in self._targets}
        return Topology(
            name=self.name,
            spouts={name: c for c, name in names.items() if isinstance(c, Spout)},
            bolts={name: c for c, name in names.items() if isinstance(c, Bolt)},
            streams=tuple(self._streams(names)),
        )

    def _names(self, components: Iterable[Spout | Bolt], held: dict[Spout | Bolt, str]) -> dict[Spout | Bolt, str]:
        """Each component's name. One without a name, or with another's, gets a stand-in: the rest is still checked."""
        names: dict[Spout | Bolt, str] = {}
        taken: set[str] = set()
        for component in components:
            name: Any = component.name if component.name is not None else held.get(component)
            if name is None:
                name = f"unnamed {_kind(component)} {len(names) + 1}"
                self.problems.append(
                    f"{name}, of {_function(component)}, has no name: "
                    "assign it to a local variable of the topology function, or name it with .with_name('x')"
                )
            elif not is_name(name) or name.startswith("__"):
                self.problems.append(
                    f"{_kind(component)} is named {name!r}: expected a string that is not empty "
                    "and does not begin with '__'"
                )
                name = str(name)
            elif name in taken:
                self.problems.append(
                    f"two components are named {name!r}: name each with .with_name('x'); "
                    "a variable that is assigned again, as in a loop, names all that it held"
                )
            while name in taken:
                name += "'"
            taken.add(name)
            names[component] = name
        return names

    def _streams(self, names: dict[Spout | Bolt, str]) -> Iterator[Stream]:
        for subscription in self._subscriptions:
            cls = subscription.grouping.cls
            yield Stream(
                id=stream_id(cls) if is_tuple_class(cls) else getattr(cls, "__name__", str(cls)),
                cls=cls,
                source=names[subscription.source],
                target=names[subscription.target],
                grouping=subscription.grouping,
            )


def _function(component: Spout | Bolt) -> str:
    return spelled(next(iter(user_functions(component).values()), None))


def _kind(component: Spout | Bolt) -> str:
    return "spout" if isinstance(component, Spout) else "bolt"
