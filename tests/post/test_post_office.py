"""Letters between two ends, in one process here."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from fsshelter_py.post import PostOffice


def test_letters_arrive_in_order_and_errors_are_reported() -> None:
    """From several threads: the order of each is kept; what cannot be done does not end the postman."""
    with TemporaryDirectory(dir="/tmp") as directory:
        here, there = PostOffice(Path(directory), 0), PostOffice(Path(directory), 1)
        received: list[tuple[int, int]] = []
        errors: list[BaseException] = []
        functions = {"take": lambda *letter: received.append(letter), "end": there.end}
        postman = threading.Thread(target=there.serve, args=(functions, errors.append))
        postman.start()

        def send(sender: int) -> None:
            for number in range(200):
                here.send("1", [("take", sender, number)])

        senders = [threading.Thread(target=send, args=(sender,)) for sender in range(3)]
        for thread in senders:
            thread.start()
        for thread in senders:
            thread.join()
        here.tell(1, "unknown", ValueError("argument"))
        here.tell(1, "end")
        postman.join()
        for sender in range(3):
            assert [number for who, number in received if who == sender] == list(range(200))
        assert [type(error) for error in errors] == [KeyError]
        here.close()
        there.close()
        here.send("1", [("take", 0, 0)])  # ignored
        here.send("2", [("take", 0, 0)])  # so is one to whom nothing was sent before


def test_sockets_are_files_of_the_directory() -> None:
    """They go with it."""
    with TemporaryDirectory(dir="/tmp") as directory:
        office = PostOffice(Path(directory), 3)
        assert [path.name for path in Path(directory).iterdir()] == ["3"]
        office.close()
