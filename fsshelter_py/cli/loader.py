"""A topology file, loaded as a module, and the topologies found in it."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from fsshelter_py.cli.problem import Problem, brief, shown, users_frame
from fsshelter_py.declare.builder import TopologyBuilder
from fsshelter_py.model.topology import Topology

__all__ = ["Found", "load"]

Loadable: TypeAlias = Topology | TopologyBuilder[...]


@dataclass(frozen=True, slots=True)
class Found:
    """A topology of a file: the variable that holds it, and the topology or what builds it."""

    file: Path
    variable: str
    value: Loadable

    @property
    def name(self) -> str:
        """The topology's own name."""
        return self.value.name


def load(target: str) -> Found:
    """The topology that ``FILE`` or ``FILE:NAME`` names. Raises ``Problem``."""
    file, name = _parse(target)
    module = _execute(file)
    found = list(_found(module, file))
    own = [one for one in found if _is_own(one, module)] or found
    return _choose(file, own, name)


def _parse(target: str) -> tuple[Path, str | None]:
    path, separator, name = target.rpartition(":")
    if Path(target).exists() or not separator:
        path, name = target, ""
    elif not name:
        raise Problem(f"{target}: the name after ':' is missing; give FILE or FILE:NAME")
    file = Path(path)
    if file.is_dir():
        inside = sorted(p.name for p in file.glob("*.py") if not p.name.startswith(("_", "test_")))
        hint = f", such as {file / inside[0]}" if inside else ""
        raise Problem(f"{path} is a directory; give a topology file{hint}")
    if not file.exists():
        siblings = [p.name for p in file.parent.glob("*.py")] if file.parent.is_dir() else []
        near = difflib.get_close_matches(file.name, siblings, n=1)
        raise Problem(f"no such file: {path}" + (f"; did you mean {file.with_name(near[0])}?" if near else ""))
    try:
        file.open("rb").close()
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}", cause=error) from error
    return file.resolve(), name or None


def _module_name(file: Path) -> str:
    """The file's own name, as ``import`` in a neighbouring file would use it, unless another module bears it."""
    stem = "".join(c if c.isalnum() else "_" for c in file.stem)
    if not stem.isidentifier() or stem in sys.stdlib_module_names or stem in sys.modules:
        return f"topology_file_{stem}"
    return stem


def _execute(file: Path) -> ModuleType:
    name = _module_name(file)
    loader = SourceFileLoader(name, str(file))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Before it runs, as an import does: dataclasses and pickle look their module up by name.
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    try:
        loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _load_problem(file, error) from error
    return module


def _load_problem(file: Path, error: BaseException) -> Problem:
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = shown(Path(error.filename)) + (f":{error.lineno}" if error.lineno else "")
        line = (error.text or "").strip()
        return Problem(f"{where}: {error.msg}" + (f"\n    {line}" if line else ""), cause=error)
    at = users_frame(error, file)
    where = f"\n    {at}" if at else ""
    if isinstance(error, SystemExit):
        return Problem(
            f"{shown(file)} ends the program while it is loaded (sys.exit); "
            f'put that under `if __name__ == "__main__":`{where}',
            cause=error,
        )
    hint = ""
    if isinstance(error, ModuleNotFoundError):
        hint = f"\n    install it into {sys.prefix}, where fsshelter is, or put the module beside the file"
    return Problem(f"loading {shown(file)} failed: {brief(error)}{where}{hint}", cause=error)


def _found(module: ModuleType, file: Path) -> Iterator[Found]:
    """Each topology once, by the first variable that holds it."""
    seen: set[int] = set()
    for variable, value in vars(module).items():
        if isinstance(value, (Topology, TopologyBuilder)) and id(value) not in seen:
            seen.add(id(value))
            yield Found(file, variable, value)


def _is_own(found: Found, module: ModuleType) -> bool:
    """Whether the file made it, and did not import it to build upon."""
    if isinstance(found.value, TopologyBuilder):
        return found.value.__module__ == module.__name__
    # A built topology does not know where it was made: it was elsewhere if another module holds it too.
    others = (other for other in list(sys.modules.values()) if other is not module)
    return not any(value is found.value for other in others for value in list(vars(other).values()))


def _choose(file: Path, found: list[Found], name: str | None) -> Found:
    if not found:
        raise Problem(
            f'{shown(file)} holds no topology; decorate a generator function with @topology("name"), '
            "and let it yield the topology's streams"
        )
    if name is None:
        if len(found) == 1:
            return found[0]
        raise Problem(f"{shown(file)} holds {len(found)} topologies; name one of them:{_listed(file, found)}")
    by_variable = [one for one in found if one.variable == name]
    chosen = by_variable or [one for one in found if one.name == name]
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        raise Problem(
            f"{shown(file)} holds {len(chosen)} topologies named {name!r}; name a variable:{_listed(file, chosen)}"
        )
    raise Problem(f"{shown(file)} holds no topology {name!r}; it holds:{_listed(file, found)}")


def _listed(file: Path, found: list[Found]) -> str:
    return "".join(f"\n    {shown(file)}:{one.variable}   (topology {one.name!r})" for one in found)
