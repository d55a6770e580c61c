"""Topology files found, loaded and searched; every mistake told in a few lines."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsshelter_py.cli.loader import load
from fsshelter_py.cli.problem import Problem
from fsshelter_py.model.topology import Topology

TOPOLOGY = """
from dataclasses import dataclass
from fsshelter_py import Bolt, Shuffle, Spout, topology

@dataclass(frozen=True)
class Number:
    value: int

def show(number: Number, emit) -> None:
    pass

@topology("{name}")
def {variable}():
    numbers = Spout.replaying(lambda ctx: [Number(1)])
    shown = Bolt.run(show)
    yield numbers >> shown | Shuffle.on(Number)
"""


@pytest.fixture(autouse=True)
def _clean_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a folder of our own, and forget what was imported from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(text: str, name: str = "flow.py") -> str:
    """A topology file in the working directory."""
    Path(name).write_text(text, encoding="utf-8")
    return name


def refused(target: str) -> str:
    """The message that the target is refused with."""
    with pytest.raises(Problem) as caught:
        load(target)
    assert caught.value.exit_code == 2
    assert len(str(caught.value).splitlines()) <= 4
    return str(caught.value)


def test_the_only_topology_of_a_file_is_found() -> None:
    """By its file alone."""
    found = load(write(TOPOLOGY.format(name="one", variable="flow")))

    assert (found.name, found.variable) == ("one", "flow")


def test_the_module_can_be_looked_up_by_name() -> None:
    """As pickle does."""
    load(write(TOPOLOGY.format(name="one", variable="flow"), "numbers_flow.py"))

    number = sys.modules["numbers_flow"].Number(3)
    assert pickle.loads(pickle.dumps(number)) == number


def test_a_file_named_like_a_known_module_does_not_replace_it() -> None:
    """``queue.py`` runs, and the standard library's ``queue`` stays."""
    import queue

    load(write(TOPOLOGY.format(name="one", variable="flow"), "queue.py"))

    assert sys.modules["queue"] is queue


def test_a_file_may_import_its_neighbours() -> None:
    """Its folder is on the path."""
    write("ANSWER = 42", "neighbour_of_flow.py")
    load(write("from neighbour_of_flow import ANSWER\n" + TOPOLOGY.format(name="one", variable="flow")))


@pytest.mark.parametrize("name", ["second", "b"])
def test_a_name_picks_by_variable_or_by_topology(name: str) -> None:
    """Either will do."""
    text = TOPOLOGY.format(name="first", variable="a") + TOPOLOGY.format(name="second", variable="b")
    assert load(f"{write(text)}:{name}").variable == "b"


def test_two_topologies_without_a_name_are_listed() -> None:
    """With what to type for each."""
    text = TOPOLOGY.format(name="first", variable="a") + TOPOLOGY.format(name="second", variable="b")

    message = refused(write(text))

    assert "flow.py holds 2 topologies; name one of them:" in message
    assert "flow.py:a   (topology 'first')" in message
    assert "flow.py:b   (topology 'second')" in message


def test_an_unknown_name_lists_what_there_is() -> None:
    """With what to type for each."""
    assert "holds no topology 'x'; it holds:" in refused(write(TOPOLOGY.format(name="one", variable="flow")) + ":x")


def test_an_imported_topology_does_not_count_beside_the_files_own() -> None:
    """A file may build upon another's topology, renamed or built."""
    write(TOPOLOGY.format(name="base", variable="base") + "built = base()", "base_flow.py")
    text = "from base_flow import base as renamed, built\n" + TOPOLOGY.format(name="own", variable="own")

    assert load(write(text)).name == "own"


def test_an_imported_topology_counts_where_it_is_the_only_one() -> None:
    """A file that only imports one runs it."""
    write(TOPOLOGY.format(name="base", variable="base"), "base_flow.py")

    assert load(write("from base_flow import base")).name == "base"


def test_a_built_topology_is_found_too() -> None:
    """Such as two topologies combined."""
    text = TOPOLOGY.format(name="one", variable="_one") + "combined = _one().with_name('all')"

    assert isinstance(load(write(text) + ":combined").value, Topology)


def test_a_missing_file_names_the_nearest_one() -> None:
    """Of the files beside it."""
    write("", "word_count.py")

    assert refused("word_cuont.py") == "no such file: word_cuont.py; did you mean word_count.py?"
    assert refused("nowhere/x.py") == "no such file: nowhere/x.py"


def test_a_directory_is_refused_with_a_file_in_it() -> None:
    """As an example of what to type."""
    Path("flows").mkdir()
    write("", "flows/one.py")

    assert refused("flows") == "flows is a directory; give a topology file, such as flows/one.py"


def test_a_file_without_a_topology_says_how_to_make_one() -> None:
    """The decorator, by name."""
    assert '@topology("name")' in refused(write("x = 1"))


def test_a_syntax_error_shows_file_line_and_text() -> None:
    """No traceback."""
    assert refused(write("x = 1\ny = (\n")) == "flow.py:2: '(' was never closed\n    y = ("


def test_what_is_raised_on_import_shows_the_users_line() -> None:
    """The deepest line that is not of a library."""
    message = refused(write("import json\ndef read():\n    return json.loads('{')\nread()\n"))

    assert message.startswith("loading flow.py failed: JSONDecodeError: ")
    assert message.endswith("\n    flow.py:3: return json.loads('{')")


def test_a_missing_module_says_where_to_install_it() -> None:
    """Into the environment of the command."""
    message = refused(write("import no_such_module_at_all"))

    assert "No module named 'no_such_module_at_all'" in message
    assert sys.prefix in message


def test_leaving_the_program_while_loading_is_told() -> None:
    """``sys.exit`` at the top of a file must not pass for a run that succeeded."""
    assert "sys.exit" in refused(write("import sys\nsys.exit(0)"))


def test_ctrl_c_while_loading_is_not_an_error_of_the_file() -> None:
    """It ends the command as Ctrl-C does."""
    with pytest.raises(KeyboardInterrupt):
        load(write("raise KeyboardInterrupt"))


def test_a_file_that_is_no_text_is_refused() -> None:
    """Whatever bytes it has."""
    Path("flow.py").write_bytes(b"\xff\xfe\x00")
    assert "flow.py" in refused("flow.py")
