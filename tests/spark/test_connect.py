"""Spark Connect: a client without a JVM of its own."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")

PROGRAM = """
    import sys
    from dataclasses import dataclass
    from pyspark.sql import SparkSession
    from fsshelter_py import Bolt, Shuffle, topology
    from fsshelter_py.errors import TopologyFailedError
    from fsshelter_py.spark import host, spark_sink, spark_spout, spark_stream_spout

    @dataclass(frozen=True)
    class Row:
        id: int
        name: str

    def read(spark):
        return spark.range(0, 500, 1, 5).selectExpr("id", "concat('row ', id) AS name")

    out = sys.argv[1]
    failed = []

    def handle(row, emit):
        if row.id == 7 and not failed:
            failed.append(row)
            raise ValueError("once")
        emit(row)

    @topology("connected")
    def connected(tasks: int, **options):
        rows = spark_spout(read, Row, **options).with_parallelism(tasks)
        bolt = Bolt.run(handle)
        sink = spark_sink(lambda frame: frame.write.mode("append").parquet(out), max_rows=100, max_wait=0.5)
        yield rows >> bolt | Shuffle.on(Row)
        yield bolt >> sink | Shuffle.on(Row)

    @topology("streaming")
    def streaming():
        rows = spark_stream_spout(lambda spark: spark.readStream.format("rate").load(), Row, checkpoint=out + ".check")
        bolt = Bolt.run(handle)
        yield rows >> bolt | Shuffle.on(Row)

    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    for tasks in (1, 2):
        with host(connected(tasks).with_conf(max_spout_pending=200), spark) as hosted:
            print(hosted.wait().acked)
    print(sorted(map(tuple, spark.read.parquet(out).collect())) == sorted([*((n, f"row {n}") for n in range(500))] * 2))
    for refused in (connected(1, checkpoint=out + ".positions"), streaming()):
        try:
            with host(refused, spark) as hosted:
                hosted.wait()
        except TopologyFailedError as error:
            print(error)
    for _ in range(2):
        with host(connected(1, checkpoint=out + ".positions", trust_plan=True), spark) as hosted:
            print(hosted.wait().acked)
    spark.stop()
"""


@pytest.mark.usefixtures("spark")  # whoever has no Java is told by it
@pytest.mark.timeout(240)
def test_the_batch_spout_and_the_sink_work_and_the_rest_is_refused(tmp_path: Path) -> None:
    """foreachBatch would run in another process there, and a plan cannot be looked at; each error says so."""
    if not all(importlib.util.find_spec(name.split(".")[0]) for name in NEEDED):
        pytest.skip("Spark Connect needs more packages: pip install 'pyspark[connect]'")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path / "out")],
        # The server takes a port that is free, and its workers run this Python.
        env=environment | {"SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[:3] == ["500", "500", "True"]
    assert "Spark Connect does not let its plan be looked at" in lines[3]
    assert "with Spark Connect foreachBatch runs in another process" in lines[4]
    assert lines[5:] == ["500", "0"]
