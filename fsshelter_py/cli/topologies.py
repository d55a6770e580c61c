"""A topology from what the command line says: the file, the parameters, the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fsshelter_py.cli.loader import load
from fsshelter_py.cli.parameters import bind, pairs
from fsshelter_py.cli.problem import Problem, brief, shown, users_frame
from fsshelter_py.conf import Conf
from fsshelter_py.errors import FsShelterError
from fsshelter_py.model.topology import Topology

__all__ = ["Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a command works on: ``FILE[:NAME]``, ``--set`` and ``--conf``."""

    path: str
    settings: Sequence[str] = ()
    options: Sequence[str] = ()

    def topology(self) -> Topology:
        """Load, build and validate it. Raises ``Problem``."""
        settings = pairs("--set", self.settings)
        options = dict(pairs("--conf", self.options))
        if problems := Conf.problems(options):
            raise Problem("\n".join(f"--conf: {problem}" for problem in problems))
        found = load(self.path)
        topology = found.value
        if isinstance(topology, Topology):
            if settings:
                raise Problem(
                    f"--set {settings[0][0]}: topology {topology.name!r} in {shown(found.file)} is built already "
                    "and takes no parameters"
                )
        else:
            bound = bind(topology, settings)
            try:
                topology = topology(*bound.args, **bound.kwargs)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise _build_problem(found.name, found.file, error) from error
        return topology.with_forced_conf(options)


def _build_problem(name: str, file: Path, error: BaseException) -> Problem:
    if isinstance(error, FsShelterError):
        return Problem(str(error), cause=error)
    at = users_frame(error, file)
    return Problem(f"building topology {name!r} failed: {brief(error)}" + (f"\n    {at}" if at else ""), cause=error)
