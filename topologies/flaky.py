"""What failure looks like: a bolt that fails now and then, replays, and dead letters on a stream of their own.

    fsshelter run topologies/flaky.py

Looks up the price of each order in a service that is down one time in four, and does not know some articles at all. An
order whose lookup fails is emitted again, after a moment, three times in all. What still fails then becomes a dead
letter, which a bolt of its own prints. The run ends with exit code 3, because some orders were given up.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from fsshelter_py import Bolt, DeadLetter, Emit, Shuffle, Spout, Subscriptions, TaskContext, topology

PRICES = {"apple": 3, "pear": 4, "plum": 5}


@dataclass(frozen=True, slots=True)
class Order:
    number: int
    article: str


@dataclass(frozen=True, slots=True)
class PricedOrder:
    number: int
    price: int


class PriceService:
    """Stands for an API that can fail."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def price(self, article: str) -> int:
        if self._random.random() < 0.25:
            raise ConnectionError("the price service is down")
        if article not in PRICES:
            raise LookupError(f"no article {article!r}")
        return PRICES[article]


def orders(ctx: TaskContext, count: int) -> Iterator[Order]:
    articles = [*PRICES, *PRICES, "unicorn"]
    return (Order(number, articles[number % len(articles)]) for number in range(count))


def add_price(service: PriceService, order: Order, emit: Emit[PricedOrder]) -> None:
    emit(PricedOrder(order.number, service.price(order.article)))


def store(order: PricedOrder, emit: Emit[None]) -> None:
    """A real one would write it somewhere."""


def tell(letter: DeadLetter, emit: Emit[None]) -> None:
    print(f"gave up {letter.tuple} after {letter.attempts} attempts: {letter.reason}")


@topology("flaky")
def flaky(count: int = 50, seed: int = 1) -> Subscriptions:
    source = Spout.replaying(lambda ctx: orders(ctx, count), max_attempts=3, backoff=lambda attempts: 0.05 * attempts)
    pricer = Bolt.run(add_price, make_args=lambda ctx: PriceService(seed))
    storage = Bolt.run(store)
    dead_letters = Bolt.run(tell)

    yield source >> pricer | Shuffle.on(Order)
    yield pricer >> storage | Shuffle.on(PricedOrder)
    yield source >> dead_letters | Shuffle.on(DeadLetter)
