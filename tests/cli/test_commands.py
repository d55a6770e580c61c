"""The command from end to end, in processes of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import IO

import pytest

import fsshelter_py

WAIT = 30.0
ENVIRONMENT = {
    **os.environ,
    # The package under test, installed or not; the processes run in folders of their own.
    "PYTHONPATH": str(Path(fsshelter_py.__file__).parents[1]),
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}

HEAD = """
import threading
from collections import Counter
from dataclasses import dataclass
from fsshelter_py import END, Bolt, Emit, Group, Shuffle, Spout, topology
from fsshelter_py.sources import lines

@dataclass(frozen=True)
class Line:
    text: str

@dataclass(frozen=True)
class Word:
    word: str
"""

WORDS = (
    HEAD
    + """
def split(line: Line, emit: Emit[Word]) -> None:
    for word in line.text.split():
        emit(Word(word))

def show(word: Word, emit: Emit[None]) -> None:
    print(word.word)

@topology("words")
def words(path: str):
    source = Spout.replaying(lambda ctx: lines(path, into=Line), max_attempts=3)
    splitter = Bolt.run(split)
    shown = Bolt.run(show).with_parallelism(2)
    yield source >> splitter | Shuffle.on(Line)
    yield splitter >> shown | Group.by(Word, "word")
"""
)

FLAKY = (
    HEAD
    + """
def fail(line: Line, emit: Emit[None]) -> None:
    if line.text == "bad":
        raise ValueError("no good")

@topology("flaky")
def flaky():
    source = Spout.replaying(lambda ctx: [Line("good"), Line("bad")], max_attempts=2)
    sink = Bolt.run(fail)
    yield source >> sink | Shuffle.on(Line)
"""
)

BROKEN = (
    HEAD
    + """
def next_line(ctx):
    raise RuntimeError("the source is gone")

def ignore(line: Line, emit: Emit[None]) -> None:
    pass

@topology("broken")
def broken():
    source = Spout.run_unreliable(next_line)
    sink = Bolt.run(ignore)
    yield source >> sink | Shuffle.on(Line)
"""
)

ENDLESS = (
    HEAD
    + """
def show(line: Line, emit: Emit[None]) -> None:
    if line.text == "last":
        print("drained")

@topology("endless")
def endless():
    source = Spout.run_reliable(
        lambda ctx: (1, Line("x")), make_acker=lambda ctx: (lambda tuple_id: print("acked"), lambda tuple_id: None)
    )
    sink = Bolt.run(show).with_deactivation(Line("last"))
    yield source >> sink | Shuffle.on(Line)
"""
)

STUCK = (
    HEAD
    + """
def block(line: Line, emit: Emit[None]) -> None:
    print("blocked")
    threading.Event().wait()

@topology("stuck")
def stuck():
    source = Spout.replaying(lambda ctx: [Line("x")])
    sink = Bolt.run(block)
    yield source >> sink | Shuffle.on(Line)
"""
)


def command(*arguments: str) -> list[str]:
    """``fsshelter`` with these arguments."""
    return [sys.executable, "-m", "fsshelter_py.cli", *arguments]


def fsshelter(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end in that folder."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT,
    )


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start it in that folder."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def line_of(stream: IO[str] | None) -> str:
    """The next line of a pipe."""
    assert stream is not None
    return stream.readline().strip()


def written(folder: Path, text: str) -> str:
    """A topology file in the folder."""
    (folder / "flow.py").write_text(text, encoding="utf-8")
    return "flow.py"


def test_a_run_to_the_end_exits_0_and_leaves_stdout_to_the_topology(tmp_path: Path) -> None:
    """What was asked for on stdout; the summary on stderr."""
    (tmp_path / "text").write_text("a b\na c a\n\nd", encoding="utf-8")

    done = fsshelter(tmp_path, "run", written(tmp_path, WORDS), "--set", "path=text")

    assert done.returncode == 0, done.stderr
    assert Counter(done.stdout.split()) == {"a": 3, "b": 1, "c": 1, "d": 1}
    assert re.search(r"^words: 4 tuples acked in ", done.stderr, re.MULTILINE)
    assert re.search(r"^splitter .* 4 ", done.stderr, re.MULTILINE)


def test_quiet_says_nothing_of_a_good_run(tmp_path: Path) -> None:
    """Nor of its progress."""
    (tmp_path / "text").write_text("a", encoding="utf-8")

    done = fsshelter(tmp_path, "run", written(tmp_path, WORDS), "--set", "path=text", "--quiet")

    assert (done.returncode, done.stdout, done.stderr) == (0, "a\n", "")


def test_json_logs_are_json_to_the_last_line(tmp_path: Path) -> None:
    """The summary is an event too."""
    (tmp_path / "text").write_text("a", encoding="utf-8")

    done = fsshelter(tmp_path, "run", written(tmp_path, WORDS), "--set", "path=text", "--log-format", "json")

    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["acked"] for event in events if event["event"] == "finished"] == [1]


def test_dead_tuples_exit_3_and_are_told(tmp_path: Path) -> None:
    """With the component and the error."""
    done = fsshelter(tmp_path, "run", written(tmp_path, FLAKY))

    assert done.returncode == 3, done.stderr
    assert "1 dead" in done.stderr
    assert "ValueError: no good" in done.stderr
    assert "sink" in done.stderr


def test_a_failed_topology_exits_1_with_the_users_line(tmp_path: Path) -> None:
    """And with the traceback where it is asked for."""
    file = written(tmp_path, BROKEN)

    done = fsshelter(tmp_path, "run", file, "--no-restart", "--log-level", "error")

    assert done.returncode == 1, done.stderr
    told = done.stderr[done.stderr.index("error: ") :]
    assert "source" in told
    assert "RuntimeError: the source is gone" in told
    assert 'flow.py:17: raise RuntimeError("the source is gone")' in told
    assert "Traceback" not in told
    assert "Traceback" in fsshelter(tmp_path, "run", file, "--no-restart", "--debug", "--log-level", "error").stderr


@pytest.mark.parametrize("restart", [(), ("--no-restart",)])
def test_text_that_is_not_utf8_is_told_in_the_sources_own_words(tmp_path: Path, restart: tuple[str, ...]) -> None:
    """The file and the offset, exit 2, no traceback."""
    (tmp_path / "text").write_bytes(b"good\nbad \xff\n")

    done = fsshelter(tmp_path, "run", written(tmp_path, WORDS), "--set", "path=text", "-q", *restart)

    assert done.returncode == 2, done.stderr
    error = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert error[0].startswith("error: text: the byte 0xff at offset 9 is not utf-8")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_drains(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Bolts handle their deactivation tuple; the summary is shown."""
    process = started(tmp_path, "run", written(tmp_path, ENDLESS))
    assert line_of(process.stdout) == "acked"

    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT)

    assert process.returncode == code, err
    assert "drained" in out.splitlines()
    assert "endless: " in err


def test_the_second_signal_ends_at_once(tmp_path: Path) -> None:
    """Though a bolt never comes back, and long before the drain gives up."""
    process = started(tmp_path, "run", written(tmp_path, STUCK), "--conf", "worker_shutdown_sleep_secs=1000")
    assert line_of(process.stdout) == "blocked"

    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WAIT)

    assert process.returncode in (130, 143)


def test_a_time_limit_drains_and_is_judged_by_the_summary(tmp_path: Path) -> None:
    """Everything emitted was acked, so it is 0."""
    done = fsshelter(tmp_path, "run", written(tmp_path, ENDLESS), "--for", "100ms")

    assert done.returncode == 0, done.stderr
    assert "drained" in done.stdout.splitlines()


def test_output_that_nobody_reads_drains(tmp_path: Path) -> None:
    """As after ``| head``: no tuple fails for it, and the exit code is that of a broken pipe."""
    with started(tmp_path, "run", written(tmp_path, ENDLESS)) as process:
        assert line_of(process.stdout) == "acked"

        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert process.returncode == 141, err
    assert re.search(r"^endless: [0-9,]+ tuples acked in [^,]*$", err, re.MULTILINE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_output_that_finds_no_room_is_an_error(tmp_path: Path) -> None:
    """It drains, says why in a line, and does not end as if all were well."""
    arguments = command("run", written(tmp_path, ENDLESS))
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            arguments, cwd=tmp_path, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=WAIT
        )
    assert done.returncode == 1, done.stderr
    assert "some of what it printed is lost: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere.py"), "no such file: nowhere.py"),
        (("run", "flow.py"), "parameter 'path' (text) has no default: give --set path=..."),
        (("run", "flow.py", "--set", "pth=x"), "did you mean 'path'?"),
        (("run", "flow.py", "--conf", "max_spout_pendin=3"), "did you mean 'max_spout_pending'?"),
        (("run", "flow.py:x"), "holds no topology 'x'"),
        (("run", "flow.py", "--for", "soon"), "expected a duration such as 30s"),
        (("run", "flow.py", "--fro", "1s"), "No such option"),
        (("graph", "flow.py", "--set", "path=x", "-o", "x.bmp"), "expected one of .dot"),
        (("new", "class"), "no name for a Python file"),
        (("walk",), "No such command"),
    ],
)
def test_what_the_user_can_put_right_exits_2_with_a_short_message(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """Nothing on stdout, no traceback."""
    written(tmp_path, WORDS)

    done = fsshelter(tmp_path, *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 4
    assert done.stdout == ""


def test_debug_shows_the_traceback_of_what_a_file_raises(tmp_path: Path) -> None:
    """Before the message."""
    done = fsshelter(tmp_path, "check", written(tmp_path, "1 / 0"), "--debug")

    assert done.returncode == 2
    assert done.stderr.startswith("Traceback")
    assert done.stderr.splitlines()[-2:] == [
        "error: loading flow.py failed: ZeroDivisionError: division by zero",
        "    flow.py:1: 1 / 0",
    ]


def test_check_describe_and_graph_write_to_stdout(tmp_path: Path) -> None:
    """Without running anything."""
    written(tmp_path, WORDS)
    given = ("flow.py", "--set", "path=nowhere")

    assert fsshelter(tmp_path, "check", *given).stdout == "words: 1 spout, 2 bolts, 2 streams: ok\n"
    assert "splitter" in fsshelter(tmp_path, "describe", *given).stdout
    assert fsshelter(tmp_path, "graph", *given, "--colour").stdout.startswith('digraph "words" {')
    assert fsshelter(tmp_path, "graph", *given, "-o", "x.dot").returncode == 0
    assert (tmp_path / "x.dot").read_text(encoding="utf-8") == fsshelter(tmp_path, "graph", *given).stdout


def test_a_new_topology_runs_and_its_test_passes(tmp_path: Path) -> None:
    """As the command says it would."""
    assert fsshelter(tmp_path, "new", "my-flow").returncode == 0

    done = fsshelter(tmp_path, "run", "my_flow.py")
    assert done.returncode == 0, done.stderr
    assert "the: 3" in done.stdout.splitlines()

    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_flow.py"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    assert tested.returncode == 0, tested.stdout


GUARDED = """\
import threading
from dataclasses import dataclass
from fsshelter_py import Bolt, Emit, Shuffle, Spout, topology

@dataclass(frozen=True)
class Number:
    n: int

lock = threading.Lock()

@topology("guarded")
def guarded():
    held = lock
    def hold(number: Number, emit: Emit[None]) -> None:
        with held:
            pass
    numbers = Spout.replaying(lambda ctx: map(Number, range(3)))
    holder = Bolt.run(hold).with_parallelism(2)
    yield numbers >> holder | Shuffle.on(Number)
"""


def test_what_cannot_be_sent_to_workers_is_found_by_check_and_exits_2(tmp_path: Path) -> None:
    """As any other mistake in the file is; in one process it is none."""
    file = written(tmp_path, GUARDED)
    assert fsshelter(tmp_path, "check", file).returncode == 0
    for name in ("check", "run"):
        done = fsshelter(tmp_path, name, file, "--workers", "2")
        assert done.returncode == 2
        assert "bolt 'holder' cannot be sent to a worker process" in done.stderr


def test_fewer_processes_than_asked_for_are_told(tmp_path: Path) -> None:
    """Without that they would be looked for."""
    file = written(tmp_path, GUARDED.replace("parallelism(2)", "parallelism(1)"))
    done = fsshelter(tmp_path, "run", file, "--workers", "4")
    assert done.returncode == 0
    assert "fewer_workers" in done.stderr
