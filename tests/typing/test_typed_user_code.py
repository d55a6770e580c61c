"""A strict type checker accepts what users write, and finds their mistakes where they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all checks: the first pays for the package and the library."""
    return tmp_path_factory.mktemp("mypy")


def errors_of(file: Path, cache: Path) -> dict[int, str]:
    """What ``mypy --strict`` finds in a file, by line, under no configuration but its own defaults."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(file)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    result = subprocess.run(command, cwd=file.parent, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    found = re.finditer(rf"^{re.escape(file.name)}:(\d+): error: (.*)$", result.stdout, re.MULTILINE)
    return {int(match[1]): match[2] for match in found}


def test_a_topology_file_checks_without_casts(cache: Path) -> None:
    """The design's example, and every kind of function that a component may be given."""
    assert errors_of(HERE / "good_topology.py", cache) == {}


def test_mistakes_are_found_on_their_lines(cache: Path, tmp_path: Path) -> None:
    """Each marked line has an error, and no other line has. The file is kept as text: the project's own is sound."""
    text = (HERE / "bad_topology.txt").read_text()
    file = tmp_path / "bad_topology.py"
    file.write_text(text)
    marked = {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# wrong")}
    found = errors_of(file, cache)
    assert set(found) == marked, found
