"""Every Python example of the README and the docs runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The examples of spark.md need Spark and build on one another: tests/spark/test_docs.py runs them.
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "spark.md")]


def _examples() -> list[tuple[str, Path, int]]:
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        found += [(block, page, number) for number, block in enumerate(blocks)]
    return found


def _run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A fresh folder that holds the README's own topology, as its reader has it."""
    readme = next(block for block, page, number in _examples() if page.name == "README.md" and number == 0)
    (tmp_path / "my_topology.py").write_text(readme, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("block", "page", "number"), [pytest.param(*e, id=f"{e[1].stem}-{e[2]}") for e in _examples()])
def test_example_runs(block: str, page: Path, number: int, folder: Path) -> None:
    """A topology runs to its end with exit code 0, a test passes, a program exits with 0."""
    is_test = "def test_" in block
    file = folder / (f"test_example_{number}.py" if is_test else f"example_{number}.py")
    file.write_text(block, encoding="utf-8")
    if is_test:
        done = _run("pytest", "-q", "-p", "no:cacheprovider", str(file), cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return
    if "@topology" in block:
        done = _run("fsshelter_py.cli", "run", str(file), "--quiet", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    if "@topology" not in block or "__main__" in block:
        alone = subprocess.run([sys.executable, str(file)], cwd=folder, capture_output=True, text=True, timeout=60)
        assert alone.returncode == 0, alone.stdout + alone.stderr


def test_readme_topology_counts_its_words(folder: Path) -> None:
    """The README's first topology prints every word with its count, with its parameter too."""
    done = _run("fsshelter_py.cli", "run", "my_topology.py", "--set", "times=2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "the 6" in done.stdout.splitlines()


def test_options_table_is_complete() -> None:
    """The docs list every option with its default and meaning, as the code has them."""
    from tests.docs.options_table import options_table

    assert options_table() in (ROOT / "docs" / "topologies.md").read_text(encoding="utf-8")


def test_tests_that_the_guarantees_name_exist() -> None:
    """Each guarantee names test files, and they are there."""
    rows = [
        line for line in (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8").splitlines() if "test_" in line
    ]
    assert len(rows) == 20
    for row in rows:
        named = re.findall(r"`(\w+/test_\w+\.py)`", row)
        assert named, row
        assert all((ROOT / "tests" / name).is_file() for name in named), row
