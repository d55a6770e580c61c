"""The Spark spout for long: how fast, in how much memory, and through how many kills.

    python benchmarks/spark_soak.py                 all of it, some minutes
    python benchmarks/spark_soak.py speed           rows into tuples, beside Spark's own toLocalIterator
    python benchmarks/spark_soak.py memory          10 million rows in 32 partitions, 512 MB of heap
    python benchmarks/spark_soak.py kills [N] [MASTER]
    python benchmarks/spark_soak.py stream [N]      the streaming spout, killed in the middle of micro-batches

Exits with 1 where a figure is not what the documentation says.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from pyspark.sql import DataFrame, SparkSession

from fsshelter_py import Bolt, Emit, Shuffle, Subscriptions, topology
from fsshelter_py.spark import host, spark_spout, spark_stream_spout
from fsshelter_py.spark.checkpoint import Checkpoint
from fsshelter_py.spark.columns import TupleMaker
from fsshelter_py.spark.partitions import partitions_of
from fsshelter_py.spark.plan import READ_SETTINGS
from fsshelter_py.spark.position import Position
from fsshelter_py.spark.read_ahead import ReadAhead
from fsshelter_py.spark.sessions import own_view

PROGRAM = Path(__file__).parents[1] / "tests" / "spark" / "resuming.py"
MIB = 1 << 20

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers, here and in the programs that are killed


@dataclass(frozen=True, slots=True)
class Row:
    """Three columns, of three types."""

    id: int
    name: str
    value: float


def session(heap: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("soak").config("spark.driver.memory", heap)
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows(spark: SparkSession, count: int, partitions: int) -> DataFrame:
    return spark.range(0, count, 1, partitions).selectExpr("id", "cast(id AS string) AS name", "id * 0.5D AS value")


def ignore(row: Row, emit: Emit[None]) -> None:
    """A bolt that does nothing: what is measured is the way to it."""


@topology("acked")
def acked(count: int, partitions: int) -> Subscriptions:
    spout = spark_spout(lambda spark: rows(spark, count, partitions), Row)
    bolt = Bolt.run(ignore)
    yield spout >> bolt | Shuffle.on(Row)


def run_acked(spark: SparkSession, count: int, partitions: int) -> None:
    with host(acked(count, partitions), spark) as hosted:
        summary = hosted.wait()
    assert summary.ok
    assert summary.acked == count


def run_alone(spark: SparkSession, count: int, partitions: int) -> None:
    """Rows into tuples, and no topology."""
    frame = rows(spark, count, partitions)
    maker = TupleMaker(frame.schema, Row, "UTC", "soak")
    source = partitions_of(frame, "soak", tasks=1)
    ready = threading.Event()
    number = source.plan()
    assert number is not None
    ahead = ReadAhead(lambda: (p for index in range(number) for p in source.read(index)), ready.set, "soak")
    made = 0
    while True:
        taken = ahead.take()
        if taken is None:
            ready.wait()
            ready.clear()
        elif isinstance(taken, tuple):
            made += sum(1 for batch in taken[1] for _ in maker.tuples(batch))
        else:
            break
    ahead.close(source.cancel)
    assert made == count


def run_local_iterator(spark: SparkSession, count: int, partitions: int) -> None:
    assert sum(1 for _ in rows(spark, count, partitions).toLocalIterator()) == count


def speed(count: int = 2_000_000, partitions: int = 16, rounds: int = 5) -> bool:
    """Thousands of rows a second, the ways in turn, so that what else the machine does falls on all alike."""
    spark = session("1g")
    ways = {"toLocalIterator": run_local_iterator, "tuples": run_alone, "tuples through a bolt, acked": run_acked}
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds + 1):
        for way, run in ways.items():
            began = time.perf_counter()
            run(spark, count, partitions)
            if number:  # the first round warms the JVM up
                rates[way].append(count / (time.perf_counter() - began) / 1000)
    spark.stop()
    medians = {way: statistics.median(of) for way, of in rates.items()}
    base = medians["toLocalIterator"]
    for way, rate in medians.items():
        spread = f"{min(rates[way]):,.0f} to {max(rates[way]):,.0f}"
        print(f"{way:30} {rate:8,.0f} k rows/s ({spread}), {rate / base:.1f} times toLocalIterator", flush=True)
    return medians["tuples through a bolt, acked"] >= 2 * base and medians["tuples"] >= 4 * base


def memory(count: int = 10_000_000, partitions: int = 32) -> bool:
    """The Python memory of the driver while the rows go through."""
    spark = session("512m")
    run_acked(spark, 10_000, 2)
    base = resident()
    samples: list[int] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.1):
            samples.append(resident())

    sampler = threading.Thread(target=sample)
    sampler.start()
    began = time.perf_counter()
    run_acked(spark, count, partitions)
    took = time.perf_counter() - began
    done.set()
    sampler.join()
    spark.stop()
    grown = max(samples) - base
    print(
        f"{count:,} rows in {partitions} partitions, 512 MB of heap: {took:.0f} s, "
        f"{count / took / 1000:,.0f} k rows/s, "
        f"driver's Python {base / MIB:.0f} MB before, {max(samples) / MIB:.0f} MB at most",
        flush=True,
    )
    return grown < 300 * MIB


def resident() -> int:
    """Bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def kills(times: int = 20, master: str = "local[2]", count: int = 400_000) -> bool:
    """A run killed at random moments, until there were enough of them; then let run to its end."""
    rng = random.Random(2013)
    with tempfile.TemporaryDirectory() as directory:
        input, checkpoint, seen = (str(Path(directory, name)) for name in ("rows", "positions", "seen"))
        spark = session("512m")
        spark.range(0, count, 1, 40).write.parquet(input)
        place = places(spark, input)
        spark.stop()

        def run(wait: float | None) -> int:
            """Run it, and kill it so long after its first row; how many rows it handled that were kept as settled."""
            settled, before = kept(checkpoint), size(seen)
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while wait is not None and running.poll() is None and size(seen) <= before + 2:
                time.sleep(0.02)
            if wait is not None:
                time.sleep(wait)
                running.send_signal(signal.SIGKILL)
            running.wait()
            return sum(
                1
                for partition, row in {place[id] for id in handled_since(seen, before)}
                if partition in settled and not settled[partition].gaps(row, row + 1)
            )

        command = [sys.executable, str(PROGRAM), master, input, checkpoint, seen, "2"]
        too_early = 0
        for number in range(times):
            too_early += run(rng.uniform(0, 4.0))
            print(f"kill {number + 1}: {sum(map(settled_rows, kept(checkpoint).values())):,} rows settled", flush=True)
        too_early += run(None)
        handled = Counter(handled_since(seen, 0))
        again = sum(handled.values()) - count
        print(
            f"{times} kills on {master}: {len(handled):,} of {count:,} rows handled, {too_early} of them after they "
            f"were kept as settled; {again:,} handled again (the last second before each kill)",
            flush=True,
        )
        return Path(seen).read_text().endswith(".\n") and len(handled) == count and not too_early


@dataclass(frozen=True, slots=True)
class Number:
    """A row of the stream."""

    id: int


@topology("stream")
def streaming(directory: str) -> Subscriptions:
    def read(spark: SparkSession) -> DataFrame:
        return spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(f"{directory}/in")

    def handle(seen: TextIO, number: Number, emit: Emit[None]) -> None:
        seen.write(f"{number.id}\n")
        seen.flush()
        time.sleep(0.001)

    spout = spark_stream_spout(read, Number, checkpoint=f"{directory}/checkpoint", available_now=True)
    bolt = Bolt.run(handle, make_args=lambda ctx: open(f"{directory}/seen", "a"))  # noqa: SIM115 - till the end
    yield spout >> bolt | Shuffle.on(Number)


def run_stream(directory: str) -> bool:
    """The program that ``stream`` kills."""
    spark = session("512m")
    with host(streaming(directory), spark, restart=False) as hosted:
        ok = hosted.wait().ok
    spark.stop()
    return ok


def stream(times: int = 5, files: int = 30, rows_each: int = 500) -> bool:
    """Kills in the middle of micro-batches; what is handled again is no more than the batch that each one broke off."""
    rng = random.Random(2013)
    with tempfile.TemporaryDirectory() as directory:
        seen, input = str(Path(directory, "seen")), Path(directory, "in")
        input.mkdir()
        for number in range(files):
            ids = range(number * rows_each, (number + 1) * rows_each)
            (input / f"{number:03}.json").write_text("".join(f'{{"id": {id}}}\n' for id in ids))
        command = [sys.executable, __file__, "run-stream", directory]
        for _ in range(times):
            before = size(seen)
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while running.poll() is None and size(seen) == before:
                time.sleep(0.02)
            time.sleep(rng.uniform(0.1, 2.0))
            running.send_signal(signal.SIGKILL)
            running.wait()
        finished = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        handled = Counter(handled_since(seen, 0))
        again = sum(handled.values()) - len(handled)
        count = files * rows_each
        print(f"{times} kills of a stream: {len(handled):,} of {count:,} rows handled, {again:,} again", flush=True)
        return finished.returncode == 0 and len(handled) == count and again <= times * rows_each


def size(path: str) -> int:
    return Path(path).stat().st_size if Path(path).exists() else 0


def kept(checkpoint: str) -> dict[int, Position]:
    """The positions in a checkpoint that nobody uses now."""
    if not Path(checkpoint).exists():
        return {}
    found = Checkpoint(checkpoint)
    positions = found.positions()
    found.close()
    return positions


def settled_rows(position: Position) -> int:
    settled: int = position.settled
    return settled + sum(end - begin for begin, end in position.beyond)


def places(spark: SparkSession, input: str) -> dict[int, tuple[int, int]]:
    """The partition and offset of every row, as the program reads them."""
    frame = own_view(spark, READ_SETTINGS).read.parquet(input).where("id >= 0")
    source = partitions_of(frame, "soak", tasks=1)
    found: dict[int, tuple[int, int]] = {}
    for index in range(source.plan() or 0):
        for partition, batches in source.read(index):
            ids = [id for batch in batches for id in batch.column("id").to_pylist()]
            found |= {id: (partition, offset) for offset, id in enumerate(ids)}
    return found


def handled_since(seen: str, offset: int) -> list[int]:
    """The rows handled since the file of them was so long."""
    return [int(line) for line in Path(seen).read_bytes()[offset:].split() if line.isdigit()]


def main(what: str | None = None, *arguments: str) -> int:
    converters: tuple[Any, ...] = (int, str, int)
    ok = True
    if what in (None, "speed"):
        ok &= speed()
    if what in (None, "memory"):
        ok &= memory()
    if what in (None, "kills"):
        ok &= kills(*(convert(argument) for convert, argument in zip(converters, arguments, strict=False)))
    if what in (None, "stream"):
        ok &= stream(*map(int, arguments))
    if what == "run-stream":
        ok &= run_stream(*arguments)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
