"""A new topology file and its test."""

from pathlib import Path

import pytest

from fsshelter_py.cli.problem import Problem
from fsshelter_py.cli.template import write


def test_dashes_become_underscores_in_files_and_stay_in_the_topology(tmp_path: Path) -> None:
    """The module must be importable."""
    file, test = write("my-flow", tmp_path)

    assert (file.name, test.name) == ("my_flow.py", "test_my_flow.py")
    assert '@topology("my-flow")\ndef my_flow() -> Subscriptions:' in file.read_text()
    assert "import my_flow\n" in test.read_text()
    compile(file.read_text(), file, "exec")
    compile(test.read_text(), test, "exec")


@pytest.mark.parametrize("existing", ["flow.py", "test_flow.py"])
def test_nothing_is_overwritten(tmp_path: Path, existing: str) -> None:
    """Neither file, and then the other one is not written either."""
    (tmp_path / existing).write_text("mine")

    with pytest.raises(Problem, match=f"{existing} exists already"):
        write("flow", tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [existing]


@pytest.mark.parametrize("name", ["3d", "a b", "class", "../x", "", "json", "fsshelter_py"])
def test_a_name_that_no_module_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """Nor one that would hide another module."""
    with pytest.raises(Problem, match="name"):
        write(name, tmp_path)
    assert not list(tmp_path.iterdir())
