"""``host``: a topology in a Spark driver, a notebook or ``foreachBatch``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from fsshelter_py.host import Hosted, run, run_no_restart
from fsshelter_py.model.topology import Topology
from fsshelter_py.spark import sessions

__all__ = ["host"]


@contextmanager
def host(topology: Topology, spark: SparkSession | None = None, *, restart: bool = True) -> Iterator[Hosted]:
    """Run a topology in the background; its spouts and sinks use this session. It is stopped on leaving.

    spark: without one the program's is used, and where there is none, one is made and stopped at the end. A session
        that was there before is never stopped, and its settings are left alone.
    restart: False lets the first unhandled error end the topology, as befits ``foreachBatch``, which Spark repeats.

        with host(my_topology(), spark) as hosted:
            summary = hosted.wait()

    Raises ``SourceError`` where there is no Java to make a session with.
    """
    conf = topology.conf
    used = spark if spark is not None else sessions.acquire(conf, topology.name)
    try:
        with (run if restart else run_no_restart)(topology.with_conf({sessions.SESSION: used})) as hosted:
            yield hosted
    finally:
        if spark is None:
            sessions.release(used)
