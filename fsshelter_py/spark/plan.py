"""Whether a DataFrame gives the same rows in the same places when another process reads it again, and what it is.

A row's place, its partition and offset, is all that a position knows of it. So a position means something in a later
run only if nothing in the plan can move rows, and if that run reads the same plan over the same input. Looked at with
Spark's own query execution, which is no public API and is not there with Spark Connect.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from fsshelter_py.errors import SourceError
from fsshelter_py.spark.sessions import enter, is_connect

__all__ = ["READ_SETTINGS", "described", "refuse_changed", "refuse_unsound"]

READ_SETTINGS: Final = {
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.sql.files.minPartitionNum": "1",
}
"""How files are cut into partitions: small enough for two of them to fit a small driver, and whatever the number of
cores, on which it would depend otherwise."""

_CLOCK = re.compile(r"\b(current_timestamp|current_date|current_time|localtimestamp|now)\(")
_SHUFFLES = ("Exchange", "CollectLimit", "TakeOrderedAndProject", "CollectTail")
_WAYS_OUT = (
    "Write it to a table or to files first and read those. Or, where you know that every row comes in the same place "
    "each time, as when one partition is sorted by a unique key, vouch for it with trust_plan=True"
)
_ANY_WIDTH: Final = 2**31 - 1


def refuse_unsound(frame: DataFrame, source: str) -> None:
    """Raise ``SourceError`` with every reason why the DataFrame cannot be resumed. Runs no job, broadcasts apart."""
    if is_connect(frame.sparkSession):
        reasons = ["Spark Connect does not let its plan be looked at"]
    else:
        reasons = list(_reasons(frame))
    if reasons:
        raise SourceError(f"{source}: it cannot be resumed from a checkpoint: {'; '.join(reasons)}. {_WAYS_OUT}")


def described(frame: DataFrame, partitions: int | None) -> dict[str, str]:
    """What a checkpoint keeps of the DataFrame: its plan, its input, and how many partitions it has."""
    about = {"columns": frame.schema.simpleString()}
    if partitions is not None:
        about["partitions"] = str(partitions)
    if is_connect(frame.sparkSession):
        return about
    plan = frame._jdf.queryExecution().analyzed()
    about["plan"] = _digest(plan.canonicalized().treeString(True, False, _ANY_WIDTH, False, False))
    about["input"] = _digest("\n".join(_inputs(plan)))
    for setting in READ_SETTINGS:
        about[setting] = frame.sparkSession.conf.get(setting, "") or ""
    return about


def refuse_changed(about: Mapping[str, str], kept: Mapping[str, str], path: str, source: str, *, trusted: bool) -> None:
    """Raise ``SourceError`` if the DataFrame is not the one that the checkpoint at ``path`` is of.

    trusted: only the number of partitions has to be the same, without which positions have no meaning.
    """
    compared = ("partitions",) if trusted else tuple(about)
    changed = [_CHANGED.get(name, name) for name in compared if kept.get(name) != about.get(name)]
    if changed:
        hint = "" if trusted else ", or vouch for this one with trust_plan=True"
        raise SourceError(
            f"{source}: {', '.join(changed)} changed since checkpoint {path} was written, so its positions may be of "
            f"other rows. Go back to what it was written with, give another checkpoint to read all of it{hint}"
        )


_CHANGED = {
    "columns": "the columns",
    "partitions": "the number of partitions",
    "plan": "the plan",
    "input": "the input files",
}


def _reasons(frame: DataFrame) -> Iterator[str]:
    enter(frame)
    execution = frame._jdf.queryExecution()
    plan = execution.analyzed()
    if not plan.deterministic():
        yield "there is a non-deterministic expression in the plan, such as rand() or monotonically_increasing_id()"
    clock = _CLOCK.search(plan.treeString(True, False, _ANY_WIDTH, False, False))
    if clock:
        yield f"there is {clock[1]}() in the plan, which is another each time"
    for leaf in _leaves(plan):
        if not (_relation(leaf) or leaf.nodeName() in ("Range", "LocalRelation", "OneRowRelation")):
            yield f"it reads {leaf.nodeName()}, of which it cannot be told whether it is the same in the next run"
    shuffles = {name for name in _names(execution.executedPlan()) if name in _SHUFFLES}
    if shuffles:
        yield f"there is a shuffle in the plan ({', '.join(sorted(shuffles))}), after which rows come in any order"
        return
    rdd = frame._jdf.toArrowBatchRdd()
    if "+-(" in rdd.toDebugString():
        yield "there is a shuffle under the plan, after which rows come in any order"
    elif rdd.outputDeterministicLevel().toString() != "DETERMINATE":
        yield f"Spark says of its rows that they are {rdd.outputDeterministicLevel().toString()}"


def _names(plan: Any) -> Iterator[str]:
    """The nodes of a physical plan."""
    name = plan.nodeName()
    yield name
    if name == "AdaptiveSparkPlan":
        yield from _names(plan.initialPlan())
        return
    for child in _seq(plan.children()):
        yield from _names(child)


def _inputs(plan: Any) -> Iterator[str]:
    """What the leaves of a logical plan read: files with length and time of change, or rows that the plan holds."""
    for leaf in _leaves(plan):
        relation = _relation(leaf)
        if relation is not None:
            try:
                files = relation.location().allFiles().mkString("\n")
            except Py4JError:  # a table format's own index, whose files never change once they are written
                files = "\n".join(relation.location().inputFiles())
            yield re.sub(r"access_time=\d+", "", files)
        elif leaf.nodeName() == "LocalRelation":
            yield str(leaf.data().hashCode())


def _leaves(plan: Any) -> Iterator[Any]:
    yield from _seq(plan.collectLeaves())


def _relation(leaf: Any) -> Any:
    """The relation over files that a leaf reads; None if it reads something else."""
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        return None
    relation = leaf.relation()
    return relation if relation.getClass().getSimpleName() == "HadoopFsRelation" else None


def _seq(seq: Any) -> Iterator[Any]:
    for index in range(seq.size()):
        yield seq.apply(index)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
