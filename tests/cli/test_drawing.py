"""A graph saved to a file."""

from pathlib import Path

import pytest

from fsshelter_py.cli.drawing import save
from fsshelter_py.cli.problem import Problem

GRAPH = 'digraph "ü" {}'


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for GraphViz's command, which repeats its option and its input; written by the test's need."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder / "dot"


def script(file: Path, body: str) -> None:
    """Make it a command."""
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_dot_is_written_as_it_is(tmp_path: Path) -> None:
    """Without GraphViz."""
    save(GRAPH, tmp_path / "x.dot")
    assert (tmp_path / "x.dot").read_text(encoding="utf-8") == GRAPH


def test_a_picture_is_what_graphviz_makes_of_it(tmp_path: Path, dot: Path) -> None:
    """By the format of the suffix."""
    script(dot, 'echo "$@"; cat')
    save(GRAPH, tmp_path / "x.SVG")
    assert (tmp_path / "x.SVG").read_text(encoding="utf-8") == "-Tsvg\n" + GRAPH


def test_without_graphviz_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what works without."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Problem, match=r"install graphviz .* or write a \.dot file"):
        save(GRAPH, tmp_path / "x.png")


def test_what_graphviz_complains_of_is_passed_on(tmp_path: Path, dot: Path) -> None:
    """In its own words; no file is left."""
    script(dot, "echo bad graph >&2; exit 1")
    with pytest.raises(Problem, match="GraphViz failed: bad graph"):
        save(GRAPH, tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("name", ["x", "x.bmp"])
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    """Before anything is written."""
    with pytest.raises(Problem, match=r"expected one of \.dot, \.gv, \.svg"):
        save(GRAPH, tmp_path / name)


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    """As the system words it."""
    with pytest.raises(Problem, match=r"cannot write .*: No such file or directory"):
        save(GRAPH, tmp_path / "nowhere" / "x.dot")
