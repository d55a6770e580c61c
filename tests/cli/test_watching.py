"""``--ui``: the address, and a run that is shown at it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import fsshelter_py
from fsshelter_py.cli.watching import Address

WAIT = 30.0
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(fsshelter_py.__file__).parents[1])}

TOPOLOGY = """
from dataclasses import dataclass
from fsshelter_py import Bolt, Emit, Shuffle, Spout, topology

@dataclass(frozen=True)
class Line:
    text: str

def ignore(line: Line, emit: Emit[None]) -> None:
    pass

@topology("flow")
def flow():
    source = Spout.run_unreliable(lambda ctx: None)
    sink = Bolt.run(ignore)
    yield source >> sink | Shuffle.on(Line)
"""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8080", Address("127.0.0.1", 8080)),
        ("0", Address("127.0.0.1", 0)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("box.example:65535", Address("box.example", 65535)),
        ("[::1]:8080", Address("::1", 8080)),
    ],
)
def test_an_address_is_a_port_with_or_without_a_host(text: str, address: Address) -> None:
    """Without one it is seen on this machine alone."""
    assert Address.of(text) == address
    assert str(address).endswith(text)


@pytest.mark.parametrize("text", ["", "localhost", ":8080", "8080:", "65536", "-1", "1.5", "localhost:http", "٣"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(ValueError, match="expected a port such as 8080"):
        Address.of(text)


def started(folder: Path, *arguments: str, program: str | None = None) -> "subprocess.Popen[str]":
    """``fsshelter run`` of the topology, with these arguments; ``program`` instead, with the same ones."""
    (folder / "flow.py").write_text(TOPOLOGY, encoding="utf-8")
    start = ["-c", program] if program is not None else ["-m", "fsshelter_py.cli"]
    return subprocess.Popen(
        [sys.executable, *start, "run", "flow.py", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_run_is_shown_until_it_is_drained(tmp_path: Path) -> None:
    """The log tells where; the exit code is that of any run."""
    with started(tmp_path, "--ui", "0", "--log-format", "json") as process:
        assert process.stderr is not None
        events = map(json.loads, process.stderr)
        url = next(event["url"] for event in events if event["event"] == "page_open")
        with httpx.Client(trust_env=False, timeout=WAIT) as client:
            assert client.get(f"{url}stats").json()["topology"] == "flow"
            process.terminate()
            assert "finished" in [event["event"] for event in events]
            assert process.wait(WAIT) == 143
            with pytest.raises(httpx.ConnectError):
                client.get(url)


def test_a_port_in_use_exits_2_before_anything_runs(tmp_path: Path) -> None:
    """It says which, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(tmp_path, "--ui", str(port)) as process:
            out, err = process.communicate(timeout=WAIT)

    assert (process.returncode, out) == (2, "")
    assert (
        err == f"error: --ui: cannot listen at 127.0.0.1:{port}: Address already in use; port 0 is any that is free\n"
    )


@pytest.mark.parametrize(
    ("address", "message"),
    [("soon", "expected a port such as 8080"), ("no such host:80", "cannot listen at no such host:80: ")],
)
def test_an_address_that_is_none_exits_2(tmp_path: Path, address: str, message: str) -> None:
    """Without a traceback."""
    with started(tmp_path, "--ui", address) as process:
        _, err = process.communicate(timeout=WAIT)

    assert process.returncode == 2
    assert message in err
    assert "Traceback" not in err


def test_without_the_extra_it_exits_2_and_names_it(tmp_path: Path) -> None:
    """Other runs do without."""
    program = "import sys; sys.modules['uvicorn'] = None; from fsshelter_py.cli import main; main()"
    with started(tmp_path, "--ui", "0", program=program) as process:
        _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 2
    assert err == "error: --ui: fsshelter_py.ui needs uvicorn, which is not installed: pip install 'fsshelter_py[ui]'\n"

    with started(tmp_path, "--for", "10ms", program=program) as process:
        _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
