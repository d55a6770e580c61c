"""``spark_stream_spout``: the rows of a streaming DataFrame, a micro-batch after another."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql import types as sql
from pyspark.sql.streaming.query import StreamingQuery

from fsshelter_py.errors import SourceError
from fsshelter_py.model.component import Spout
from fsshelter_py.model.context import TaskContext
from fsshelter_py.spark import sessions
from fsshelter_py.spark.columns import TupleMaker
from fsshelter_py.spark.fitting import parameters_of
from fsshelter_py.spark.micro_batch import BatchFailedError, MicroBatches
from fsshelter_py.spark.pairs import PairMaker
from fsshelter_py.spark.replay import Replay
from fsshelter_py.spark.spout import check_counts, check_into, next_of, read_with

__all__ = ["spark_stream_spout"]

BATCH_ID: Final = "batch_id"
"""A field of this name that no column is for is given the number of the micro-batch, the same in each replay."""


def spark_stream_spout(
    read_stream: Callable[[SparkSession], DataFrame],
    into: type[Any],
    *,
    checkpoint: str | os.PathLike[str],
    available_now: bool = False,
    trigger: str | None = None,
    tuple_id: str | Callable[[Any], Any] | None = None,
    max_attempts: int | None = None,
    on_give_up: Literal["dead_letter", "fail_batch"] = "dead_letter",
    batch_timeout: float | None = None,
    batch_rows: int = 10_000,
) -> Spout:
    """A reliable spout of a streaming DataFrame's rows, through Structured Streaming's ``foreachBatch``.

    A micro-batch is done for Spark when every row of it is settled, and the next one is begun only then. If it fails,
    the query ends with it, the topology restarts, and Spark's own checkpoint has that same batch come again.

    read_stream: gives the streaming DataFrame, called once a run.
    into: the tuple class; columns go to its fields by name. A field ``batch_id`` that there is no column for is given
        the number of the micro-batch.
    checkpoint: the directory of Spark's checkpoint.
    available_now: take what is there in one or more micro-batches, then end; else the input never ends.
    trigger: an interval between micro-batches, as in ``"10 seconds"``; without one they follow one another.
    tuple_id, max_attempts, batch_rows: as for ``spark_spout``.
    on_give_up: what a row nacked ``max_attempts`` times becomes: a ``DeadLetter``, or the failure of its micro-batch.
    batch_timeout: seconds after which a micro-batch that is not settled fails.

    A micro-batch is in memory as a whole: bound it at its source, as with ``maxFilesPerTrigger``. Needs parallelism 1,
    and a session that is not Spark Connect's. Raises like ``spark_spout``.
    """
    check_into("spark_stream_spout", into)
    check_counts("spark_stream_spout", max_attempts=max_attempts, batch_rows=batch_rows)
    if on_give_up not in ("dead_letter", "fail_batch"):
        raise ValueError(f"spark_stream_spout: on_give_up is {on_give_up!r}: expected 'dead_letter' or 'fail_batch'")
    if available_now and trigger is not None:
        raise ValueError("spark_stream_spout: available_now and trigger exclude each other: give one of them")
    identify = attrgetter(tuple_id) if isinstance(tuple_id, str) else tuple_id
    when: dict[str, Any] = {"availableNow": True} if available_now else {"processingTime": trigger or "0 seconds"}

    def make_args(context: TaskContext) -> _Stream:
        return _Stream(
            context,
            read_stream,
            into,
            os.fspath(checkpoint),
            when,
            lambda maker, source: MicroBatches(
                PairMaker(maker, batch_rows, identify, source, "micro-batch"),
                Replay(max_attempts, context.log, dead_letters=on_give_up == "dead_letter"),
                context.wake,
                batch_timeout,
            ),
        )

    next_row = next_of(into)

    def next_of_stream(stream: _Stream) -> Any:
        return next_row(stream.batches)

    next_of_stream.__annotations__ = next_row.__annotations__
    return Spout.run_reliable(
        next_of_stream,
        make_args=make_args,
        make_acker=lambda stream: (stream.batches.ack, stream.batches.nack),
        deactivate=_Stream.close,
    )


class _Stream:
    """A streaming query and its micro-batches."""

    def __init__(
        self,
        context: TaskContext,
        read: Callable[[SparkSession], DataFrame],
        into: type[Any],
        checkpoint: str,
        when: dict[str, Any],
        make_batches: Callable[[TupleMaker, str], MicroBatches],
    ) -> None:
        source = f"spark_stream_spout {context.component!r}"
        if context.task_count != 1:
            raise SourceError(f"{source}: it has parallelism {context.task_count}, and a stream is read by one task")
        self._session = sessions.acquire(context.conf, context.topology)
        try:
            if sessions.is_connect(self._session):
                raise SourceError(
                    f"{source}: with Spark Connect foreachBatch runs in another process, where this topology is not: "
                    "use a session of this process, or spark_spout on what the stream has written"
                )
            frame = read_with(read, self._session, source)
            if not frame.isStreaming:
                raise SourceError(f"{source}: the DataFrame is not a streaming one: use spark_spout")
            schema = sql.StructType(frame.schema.fields)
            self._numbered = BATCH_ID in parameters_of(into) and BATCH_ID not in frame.columns
            if self._numbered:
                schema.add(BATCH_ID, sql.LongType(), nullable=False)
            zone = self._session.conf.get("spark.sql.session.timeZone") or "UTC"
            maker = TupleMaker(schema, into, zone, source)
            self._columns = maker.columns
            self.batches = make_batches(maker, source)
            self._query = self._start(frame, checkpoint, when)
        except BaseException:
            sessions.release(self._session)
            raise
        self._watcher = threading.Thread(
            target=self._watch, args=(source,), name=f"fsshelter-spark:{context.component}", daemon=True
        )
        self._watcher.start()

    def close(self) -> None:
        """End the query; the batch that it is at fails, and comes again in the next run."""
        self.batches.fail("the topology stopped first")
        try:
            self._query.stop()
            self._watcher.join()
        finally:
            sessions.release(self._session)

    def _start(self, frame: DataFrame, checkpoint: str, when: dict[str, Any]) -> StreamingQuery:
        writer = frame.writeStream.foreachBatch(self._process).option("checkpointLocation", checkpoint)
        return writer.trigger(**when).start()

    def _process(self, frame: DataFrame, batch: int) -> None:
        if self._numbered:
            frame = frame.withColumn(BATCH_ID, sql_functions.lit(batch).cast("long"))
        # One action whatever follows: a batch that nothing reads does not move the state of its aggregations.
        self.batches.process(frame.select(*(frame[f"`{name}`"] for name in self._columns)).toArrow(), batch)

    def _watch(self, source: str) -> None:
        error: BaseException | None = None
        try:
            self._query.awaitTermination()
        except BaseException as raised:
            error = BatchFailedError(f"{source}: the query failed: {(str(raised).splitlines() or [repr(raised)])[0]}")
            error.__cause__ = raised
        self.batches.ended(error)
