"""``spark_spout``: the rows of a DataFrame, each a tuple that is settled once.

The tasks of one run share a DataFrame, so that what comes before its partitions in the plan runs once, and so that all
of them see the same partitions. It is made by the first of them and let go by the last.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from types import GenericAlias
from typing import Any, cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from fsshelter_py.errors import SourceError
from fsshelter_py.model.component import Spout
from fsshelter_py.model.context import TaskContext
from fsshelter_py.model.outcome import DeadLetter, EndOfInput
from fsshelter_py.model.schema import is_tuple_class
from fsshelter_py.spark import sessions
from fsshelter_py.spark.checkpoint import Checkpoint
from fsshelter_py.spark.columns import TupleMaker
from fsshelter_py.spark.pairs import PairMaker
from fsshelter_py.spark.partitions import Partition, Partitions, partitions_of
from fsshelter_py.spark.plan import READ_SETTINGS, described, refuse_changed, refuse_unsound
from fsshelter_py.spark.position import Position
from fsshelter_py.spark.progress import Progress
from fsshelter_py.spark.read_ahead import ReadAhead
from fsshelter_py.spark.replay import Replay
from fsshelter_py.spark.row_source import RowSource

__all__ = ["check_into", "check_counts", "next_of", "read_with", "spark_spout"]


def spark_spout(
    read: Callable[[SparkSession], DataFrame],
    into: type[Any],
    *,
    tuple_id: str | Callable[[Any], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_attempts: int | None = None,
    batch_rows: int = 10_000,
    trust_plan: bool = False,
) -> Spout:
    """A reliable spout of a DataFrame's rows: each a tuple, emitted again while it is nacked.

    read: gives the DataFrame, called once a run. The session it is handed sees the program's tables and temporary
        views, and has settings of its own that keep partitions small.
    into: the tuple class. Columns go to its fields by name; those that it has no field for are not read.
    tuple_id: a field, or a function of the tuple, that gives the id by which logs and dead letters name a tuple, beside
        its partition and offset.
    checkpoint: a file that keeps which rows are settled. A run that finds one emits only the others; without it every
        run reads everything.
    max_attempts: how often a tuple is emitted in all, ``None``: for ever; after that it becomes a ``DeadLetter``.
    batch_rows: how many rows are made tuples at a time.
    trust_plan: you vouch that the DataFrame gives each row in the same place in every run, where that cannot be told.

    With parallelism n the tasks read partitions side by side. Two partitions a task are in memory at most. Raises
    ``TypeError`` and ``ValueError`` for a wrong argument; what is wrong with the rows or the plan is a ``SourceError``
    of the run, before the first row.
    """
    check_into("spark_spout", into)
    check_counts("spark_spout", max_attempts=max_attempts, batch_rows=batch_rows)
    if not callable(read):
        raise TypeError(f"spark_spout: read is {read!r}: expected a function of the session that gives a DataFrame")
    identify = attrgetter(tuple_id) if isinstance(tuple_id, str) else tuple_id
    runs = _Runs(lambda context: _Run(context, read, into, checkpoint, trust_plan=trust_plan))

    def make_args(context: TaskContext) -> RowSource:
        run = runs.enter(context)
        try:
            return run.source(
                context,
                lambda: runs.leave(run, context),
                batch_rows=batch_rows,
                max_attempts=max_attempts,
                tuple_id=identify,
            )
        except BaseException:
            runs.leave(run, context)
            raise

    return Spout.run_reliable(
        next_of(into),
        make_args=make_args,
        make_acker=lambda rows: (rows.ack, rows.nack),
        deactivate=RowSource.close,
    )


def next_of(into: type[Any]) -> Callable[[Any], Any]:
    """The ``next`` of a spout of such tuples: what was nacked, then what is there, then what comes next."""

    def next_row(rows: RowSource) -> Any:
        if rows.again:
            return rows.again.popleft()
        for pair in rows.pairs:
            return pair
        return rows.more()

    # What it emits is known only now, and is checked like any other spout's when a topology is built.
    row: Any = GenericAlias(tuple, (Any, into))
    next_row.__annotations__["return"] = row | tuple[Any, DeadLetter] | EndOfInput | None
    return next_row


def read_with(read: Callable[[SparkSession], DataFrame], session: SparkSession, source: str) -> DataFrame:
    """What the user's function reads. Raises ``SourceError`` for what Spark cannot make sense of, and no DataFrame."""
    try:
        frame: Any = read(session)
    except AnalysisException as error:
        raise SourceError(f"{source}: {str(error).splitlines()[0]}") from error
    if not hasattr(frame, "mapInArrow"):
        raise SourceError(f"{source}: read returned {frame!r}, expected a DataFrame")
    return cast(DataFrame, frame)


def check_into(what: str, into: object) -> None:
    """Raise ``TypeError`` unless it is a tuple class."""
    if not is_tuple_class(into):
        raise TypeError(f"{what}: into is {into!r}: expected a dataclass, NamedTuple, attrs class or msgspec Struct")


def check_counts(what: str, **counts: Any) -> None:
    """Raise ``ValueError`` for one that is no whole number above 0; None is left out."""
    for name, count in counts.items():
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise ValueError(f"{what}: {name} is {count!r}: expected a whole number, 1 or more")


class _Run:
    """What the tasks of one run share: the session, the DataFrame, its partitions, the checkpoint."""

    def __init__(
        self,
        context: TaskContext,
        read: Callable[[SparkSession], DataFrame],
        into: type[Any],
        checkpoint: str | os.PathLike[str] | None,
        *,
        trust_plan: bool,
    ) -> None:
        self.indices: set[int] = set()
        """The tasks that use it, by their index."""
        self._source = f"spark_spout {context.component!r}"
        self._group = f"fsshelter {context.topology}.{context.component} {uuid.uuid4()}"
        self._log = context.log
        self._trusted = trust_plan
        self._lock = threading.Lock()
        self._count: int | None = None
        self._planned = False
        self._positions: dict[int, Position] = {}
        self._checkpoint: Checkpoint | None = None
        self._session = sessions.acquire(context.conf, context.topology)
        try:
            frame = read_with(read, sessions.own_view(self._session, READ_SETTINGS), self._source)
            if frame.isStreaming:
                raise SourceError(f"{self._source}: the DataFrame is a streaming one: use spark_stream_spout")
            zone = frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
            self._maker = TupleMaker(frame.schema, into, zone, self._source)
            self._frame = frame.select(*(frame[f"`{name}`"] for name in self._maker.columns))
            if checkpoint is not None:
                if not trust_plan:
                    # In a thread of its own, since looking at a plan makes its session the thread's active one.
                    with ThreadPoolExecutor(1) as looking:
                        looking.submit(refuse_unsound, self._frame, self._source).result()
                self._checkpoint = Checkpoint(checkpoint)
            self._partitions: Partitions = partitions_of(self._frame, self._group, tasks=context.task_count)
        except BaseException:
            self.close()
            raise

    def source(
        self,
        context: TaskContext,
        leave: Callable[[], None],
        *,
        batch_rows: int,
        max_attempts: int | None,
        tuple_id: Callable[[Any], Any] | None,
    ) -> RowSource:
        """The rows of one task. leave: called when it is closed."""
        left: dict[int, Position] = {}
        ahead = ReadAhead(
            lambda: self._read(context.task_index, context.task_count, left),
            context.wake,
            f"fsshelter-spark:{context.component}:{context.task_index}",
        )

        def close() -> None:
            try:
                ahead.close(self._partitions.cancel)
            finally:
                leave()

        return RowSource(
            PairMaker(self._maker, batch_rows, tuple_id, self._source, "partition"),
            Replay(max_attempts, context.log),
            ahead,
            close,
            Progress(self._checkpoint, left, self._source) if self._checkpoint is not None else None,
        )

    def close(self) -> None:
        """No task uses it any more."""
        try:
            if self._checkpoint is not None:
                self._checkpoint.close()
        finally:
            sessions.release(self._session)

    def _read(self, task: int, tasks: int, positions: dict[int, Position]) -> Iterator[Partition]:
        """The partitions of a task that are not done; what an earlier run left of each goes to ``positions``."""
        count = self._plan()
        if count is None:
            for partition, batches in self._partitions.read(task):
                if self._begin(partition, positions):
                    yield partition, batches
            return
        for partition in range(task, count, tasks):
            if self._begin(partition, positions):
                yield from self._partitions.read(partition)

    def _begin(self, partition: int, positions: dict[int, Position]) -> bool:
        position = self._positions.get(partition)
        if position is None:
            return True
        if position.is_done:
            return False
        positions[partition] = position
        return True

    def _plan(self) -> int | None:
        """How many partitions there are; by the first task that reads, the others wait for it."""
        with self._lock:
            if not self._planned:
                self._count = self._partitions.plan()
                if self._checkpoint is not None:
                    self._resume(self._checkpoint)
                self._planned = True
            return self._count

    def _resume(self, checkpoint: Checkpoint) -> None:
        about, kept = described(self._frame, self._count), checkpoint.about()
        if not kept:
            checkpoint.begin(about)
            return
        refuse_changed(about, kept, checkpoint.path, self._source, trusted=self._trusted)
        self._positions = checkpoint.positions()
        done = sum(position.is_done for position in self._positions.values())
        rows = sum(position.settled for position in self._positions.values())
        if done == self._count:
            self._log.warning(
                "already_finished", checkpoint=checkpoint.path, rows=rows, hint="another checkpoint reads it anew"
            )
        else:
            self._log.info(
                "resumed", checkpoint=checkpoint.path, partitions_done=done, of=self._count, rows_settled=rows
            )


class _Runs:
    """The runs of one spout that are going on: the tasks of a run find one another here.

    A task whose index a run has already belongs to another one: the same topology is hosted twice.
    """

    def __init__(self, begin: Callable[[TaskContext], _Run]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._runs: list[_Run] = []

    def enter(self, context: TaskContext) -> _Run:
        """The run that this task belongs to."""
        with self._lock:
            run = next((run for run in self._runs if context.task_index not in run.indices), None)
            if run is None:
                run = self._begin(context)
                self._runs.append(run)
            run.indices.add(context.task_index)
            return run

    def leave(self, run: _Run, context: TaskContext) -> None:
        """The task is done with its run; the last one closes it."""
        with self._lock:
            run.indices.discard(context.task_index)
            if not run.indices:
                self._runs.remove(run)
                run.close()
