"""Numbers from a source that keeps its own queue: none is lost, whatever happens to the topology.

    fsshelter run topologies/guaranteed.py --set count=100000

A spout takes numbers from a queue that lives outside the runtime, a bolt adds one, and the odd and the even results go
to a bolt each. The queue forgets a number only when its whole tree was acked; what is nacked, for whatever reason, it
hands out again. At the end it prints how many numbers were taken, acked and nacked, and how many are left: 0.
"""

import threading
from collections import deque
from dataclasses import dataclass

from fsshelter_py import END, Bolt, Emit, EndOfInput, NackReason, Shuffle, Spout, Subscriptions, topology


@dataclass(frozen=True, slots=True)
class Original:
    number: int


@dataclass(frozen=True, slots=True)
class Odd:
    number: int


@dataclass(frozen=True, slots=True)
class Even:
    number: int


class NumberQueue:
    """A source as a message queue would be: it keeps what was taken until it is acked. Any thread may call it."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._waiting = deque(enumerate(range(count)))
        self._taken: dict[int, int] = {}
        self.acked = 0
        self.nacked = 0

    def take(self) -> tuple[int, Original] | EndOfInput:
        with self._lock:
            if not self._waiting:
                return END
            message_id, number = self._waiting.popleft()
            self._taken[message_id] = number
            return message_id, Original(number)

    def ack(self, message_id: int) -> None:
        with self._lock:
            del self._taken[message_id]
            self.acked += 1

    def nack(self, message_id: int, reason: NackReason) -> None:
        with self._lock:
            self._waiting.append((message_id, self._taken.pop(message_id)))
            self.nacked += 1

    @property
    def left(self) -> int:
        """Numbers not acked."""
        with self._lock:
            return len(self._waiting) + len(self._taken)


def add_one(original: Original, emit: Emit[Odd | Even]) -> None:
    number = original.number + 1
    emit(Even(number) if number % 2 == 0 else Odd(number))


def log_odd(odd: Odd, emit: Emit[None]) -> None:
    """A real one would write it somewhere."""


def log_even(even: Even, emit: Emit[None]) -> None:
    """A real one would write it somewhere."""


def tell(queue: NumberQueue) -> None:
    print(f"acked {queue.acked}, nacked {queue.nacked}, left {queue.left}")


@topology("guaranteed")
def guaranteed(count: int = 10_000, queue: NumberQueue | None = None) -> Subscriptions:
    source = queue if queue is not None else NumberQueue(count)

    numbers = Spout.run_reliable(
        lambda source: source.take(),
        make_args=lambda ctx: source,
        make_acker=lambda source: (source.ack, source.nack),
        deactivate=tell,
    )
    adder = Bolt.run(add_one).with_parallelism(2)
    odd = Bolt.run(log_odd)
    even = Bolt.run(log_even)

    yield numbers >> adder | Shuffle.on(Original)
    yield adder >> odd | Shuffle.on(Odd).unanchored()
    yield adder >> even | Shuffle.on(Even).unanchored()
