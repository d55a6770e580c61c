"""``spark_sink``: tuples out through Spark, in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fsshelter_py.model.component import Bolt
from fsshelter_py.model.context import Emit, TaskContext
from fsshelter_py.spark import sessions
from fsshelter_py.spark.schema import TableMaker

__all__ = ["spark_sink"]


def spark_sink(write: Callable[[DataFrame], object], *, max_rows: int, max_wait: float) -> Bolt:
    """A bolt that hands its tuples to ``write`` as a DataFrame, a column a field; they are acked once it returns.

    write: writes the DataFrame and returns when that is committed, as in
        ``lambda df: df.write.mode("append").parquet(path)``. If it raises, the tuples of the batch are failed and come
        again, in another batch, so what it writes should bear being written twice.
    max_rows: a batch is written when it has this many tuples,
    max_wait: or when its first has waited so many seconds; also when the input ends, and on stop.

    A write costs a quarter of a second and makes a file at least, however few rows it has: let batches be large. More
    tuples than the spouts' ``max_spout_pending`` allows in flight never come together; raise that with ``max_rows``.
    It has a thread of its own, since it waits for Spark. Tuples of several classes make a DataFrame each.
    """
    if not callable(write):
        raise TypeError(f"spark_sink: write is {write!r}: expected a function of a DataFrame")

    def make_args(context: TaskContext) -> _Writer:
        return _Writer(context, write, max_rows)

    sink = Bolt.run_batched(_Writer.consume, max_size=max_rows, max_wait=max_wait, make_args=make_args)
    return sink.with_deactivation(_STOPPED).with_executors(1)


class _Stopped:
    """Handed to the sink when it stops: the runtime has no other word for a bolt that it is over."""


_STOPPED: Final = _Stopped()


class _Writer:
    """One task of a sink: called by its executor only."""

    def __init__(self, context: TaskContext, write: Callable[[DataFrame], object], max_rows: int) -> None:
        self._write = write
        self._makers: dict[type[Any], TableMaker] = {}
        self._session: SparkSession = sessions.acquire(context.conf, context.topology)
        pending = context.conf.max_spout_pending
        if pending < max_rows:
            context.log.warning(
                "small_batches",
                max_rows=max_rows,
                max_spout_pending=pending,
                hint="batches wait max_wait for rows that cannot come: raise max_spout_pending to max_rows",
            )

    def consume(self, tuples: list[Any], emit: Emit[None]) -> None:
        if tuples[0] is _STOPPED:
            sessions.release(self._session)
            return
        by_class: dict[type[Any], list[Any]] = {}
        for one in tuples:
            by_class.setdefault(type(one), []).append(one)
        tables = [self._table(cls, of) for cls, of in by_class.items()]
        for table in tables:
            self._write(self._session.createDataFrame(table).coalesce(1))

    def _table(self, cls: type[Any], tuples: list[Any]) -> pa.Table:
        maker = self._makers.get(cls)
        if maker is None:
            maker = self._makers[cls] = TableMaker(cls)
        return maker.table(tuples)
