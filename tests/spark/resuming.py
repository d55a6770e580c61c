"""A program that reads files through a bolt with a checkpoint; tests kill it, and run it again.

    python resuming.py MASTER INPUT CHECKPOINT SEEN

Appends a line for each row that the bolt handled to SEEN, unbuffered, so that a kill loses none. ``!`` stands for the
start of a run, ``.`` for its end.
"""

import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fsshelter_py import Bolt, Emit, Shuffle, Subscriptions, TaskContext, topology
from fsshelter_py.spark import host, spark_spout


@dataclass(frozen=True, slots=True)
class Row:
    id: int


class Log:
    """The file of rows that were handled."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())


def session(master: str) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("resuming")
    for key, value in {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@topology("resuming")
def resuming(input: str, checkpoint: str, log: Log, tasks: int = 1) -> Subscriptions:
    def read(spark: SparkSession) -> DataFrame:
        # Files of one size each, cut small: so there are many partitions, of some hundred rows.
        return spark.read.parquet(input).where("id >= 0")

    def handle(log: Log, row: Row, emit: Emit[None]) -> None:
        log.write(str(row.id))
        time.sleep(0.0001)  # long enough for positions to be saved before the end

    def make_log(ctx: TaskContext) -> Log:
        return log

    rows = spark_spout(read, Row, checkpoint=checkpoint, batch_rows=100).with_parallelism(tasks)
    handler = Bolt.run(handle, make_args=make_log)
    yield rows >> handler | Shuffle.on(Row)


def main(master: str, input: str, checkpoint: str, seen: str, *rest: Any) -> int:
    log = Log(seen)
    spark = session(master)
    spark.sparkContext.setLogLevel("OFF")
    log.write("!")
    with host(resuming(input, checkpoint, log, *map(int, rest)), spark, restart=False) as hosted:
        ok = hosted.wait().ok
    log.write(".")
    spark.stop()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
