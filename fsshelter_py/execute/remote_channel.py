"""The way from one task to one of another process: its bundles as bytes, as far as there is credit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from fsshelter_py.channel import Mailbox
from fsshelter_py.execute.flow import Flow
from fsshelter_py.execute.task import Task
from fsshelter_py.model.outcome import NackReason
from fsshelter_py.model.topology import Stream
from fsshelter_py.post import Credit, TupleCodec

__all__ = ["RemoteChannel"]


class RemoteChannel:
    """The way from one task to one of another process, for one stream. Used by the emitting task's executor only."""

    __slots__ = ("_codec", "_credit", "_deliver", "_flow", "_stream", "_task")

    def __init__(
        self,
        task: Task,
        flow: Flow,
        stream: Stream,
        codec: TupleCodec,
        credit: Credit,
        deliver: Callable[..., None],
    ) -> None:
        """deliver: gives the courier ``(anchors, ids, sizes of the bundles, their tuples packed)``."""
        self._task = task
        self._flow = flow
        self._stream = stream
        self._codec = codec
        self._credit = credit
        self._deliver = deliver

    def offer(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> int:
        """Send bundles as far as there is credit; returns how many. If not all, ``me`` is poked when there is more."""
        count = self._credit.draw(bundles, me)
        if count:
            self._send(bundles if count == len(bundles) else bundles[:count], me)
        return count

    def _send(self, bundles: Sequence[tuple[Any, ...]], me: Mailbox) -> None:
        if self._codec.singly and len(bundles) > 1:
            for bundle in bundles:
                self._send([bundle], me)
            return
        try:
            packed = self._packed(bundles)
        except BaseException:
            bundles = self._without_unpackable(bundles)
            me.poke()  # the trees that failed are told in the next turn
            if not bundles:
                return
            packed = self._packed(bundles)
        _, anchors, ids, lists = zip(*bundles, strict=True)
        self._deliver(anchors, ids, list(map(len, lists)), packed)

    def _packed(self, bundles: Sequence[tuple[Any, ...]]) -> bytes:
        return self._codec.pack(list(chain.from_iterable([bundle[3] for bundle in bundles])))

    def _without_unpackable(self, bundles: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """What can be sent; the input of each tuple that cannot has failed in the task that emitted it."""
        flow, task = self._flow, self._task
        rest = []
        for leg, anchor, id, tuples in bundles:
            kept = []
            for tuple_ in tuples:
                problem = self._codec.problem(tuple_)
                if problem is None:
                    kept.append(tuple_)
                    continue
                task.blamed(problem, self._stream.id, tracked=anchor is not None)
                if anchor is not None:
                    flow.trees.fail(anchor, NackReason("failed", task.component, task.id, problem, self._stream.id))
            self._credit.repay(len(tuples) - len(kept))
            if kept:
                rest.append((leg, anchor, id, kept))
            else:
                flow.done += 1
        return rest
