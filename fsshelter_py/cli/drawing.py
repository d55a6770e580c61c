"""A topology's graph as a file: DOT as it is, pictures by GraphViz's own ``dot``."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fsshelter_py.cli.problem import Problem

__all__ = ["save"]

_TEXT = ("dot", "gv")
_PICTURES = ("svg", "png", "pdf")


def save(graph: str, file: Path) -> None:
    """Write a graph in DOT to a file, in the format of its suffix. Raises ``Problem``."""
    suffix = file.suffix.removeprefix(".").lower()
    if suffix not in _TEXT + _PICTURES:
        known = ", ".join(f".{name}" for name in _TEXT + _PICTURES)
        raise Problem(f"{file}: the suffix says the format; expected one of {known}")
    try:
        file.write_bytes(graph.encode() if suffix in _TEXT else _rendered(graph, suffix))
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", cause=error) from error


def _rendered(graph: str, suffix: str) -> bytes:
    try:
        done = subprocess.run(["dot", f"-T{suffix}"], input=graph.encode(), capture_output=True, check=True)
    except FileNotFoundError as error:
        raise Problem(
            f"a .{suffix} file takes GraphViz, whose command `dot` is not installed: "
            "install graphviz with your system's package manager, or write a .dot file",
            cause=error,
        ) from error
    except subprocess.CalledProcessError as error:
        raise Problem(f"GraphViz failed: {error.stderr.decode(errors='replace').strip()}", cause=error) from error
    return done.stdout
