"""What user code prints beside the live view."""

import io
import logging
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from fsshelter_py.cli.prints import Prints


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


@contextmanager
def installed(stdout: io.StringIO | None = None) -> Iterator[tuple[Prints, Terminal]]:
    """stderr is a terminal, and stdout the same one if it is not given; ``Prints`` stands before them."""
    terminal = Terminal()
    with redirect_stdout(stdout or terminal), redirect_stderr(terminal), Prints().installed() as prints:
        yield prints, terminal


def test_a_line_is_written_when_it_is_whole() -> None:
    """Or when it is flushed."""
    with installed() as (_, terminal):
        print("a", end="")
        assert terminal.getvalue() == ""
        print("b")
        assert terminal.getvalue() == "ab\n"
        print("c", end="", flush=True)
        assert terminal.getvalue() == "ab\nc"


def test_what_was_not_ended_is_written_in_the_end() -> None:
    """Nothing is lost."""
    with installed() as (_, terminal):
        print("a", end="")
    assert terminal.getvalue() == "a"


def test_lines_of_several_threads_stay_whole() -> None:
    """Each thread is in the middle of its line while the others write theirs."""
    meet = threading.Barrier(4)

    def talk(name: str) -> None:
        for _ in range(20):
            print(name, end="")
            meet.wait(30)
            print(name)
            meet.wait(30)

    with installed() as (_, terminal):
        threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert Counter(terminal.getvalue().splitlines()) == {name * 2: 20 for name in "abcd"}


def test_whole_lines_come_out_in_order_when_drained() -> None:
    """Of both streams; an unfinished line waits for its end."""
    above: list[str] = []
    with installed() as (prints, terminal):
        prints.hold(above.append)
        print("one")
        print("two", file=sys.stderr)
        print("thr", end="")
        prints.drain()
        assert above == ["one\ntwo\n"]

        print("ee")
        prints.drain()
        assert above == ["one\ntwo\n", "three\n"]
    assert terminal.getvalue() == ""


def test_release_writes_the_unfinished_line_too() -> None:
    """And lets everything through again."""
    above: list[str] = []
    with installed() as (prints, terminal):
        prints.hold(above.append)
        print("end", end="")
        prints.release()
        print("after")
    assert above == ["end\n"]
    assert terminal.getvalue() == "after\n"


def test_much_text_does_not_wait_for_the_view() -> None:
    """What is held has a bound."""
    above: list[str] = []
    with installed() as (prints, _):
        prints.hold(above.append)
        print("x" * 100_000)
        print("y")
        assert [len(text) for text in above] == [100_001]


def test_a_handler_made_early_prints_above_the_view_too() -> None:
    """A topology file that sets standard logging up keeps the stream it found."""
    above: list[str] = []
    with installed() as (prints, terminal):
        handler = logging.StreamHandler()
        prints.hold(above.append)
        handler.emit(logging.makeLogRecord({"msg": "logged"}))
        prints.drain()
        assert above == ["logged\n"]
    handler.emit(logging.makeLogRecord({"msg": "late"}))
    assert terminal.getvalue() == "late\n"


def test_prints_into_a_pipe_do_not_go_through_the_terminal() -> None:
    """They are written at once, though a view is shown."""
    pipe = io.StringIO()
    with installed(stdout=pipe) as (prints, terminal):
        prints.hold(terminal.write)
        print("out")
        assert pipe.getvalue() == "out\n"
        print("err", file=sys.stderr)
        assert terminal.getvalue() == ""
    assert terminal.getvalue() == "err\n"
