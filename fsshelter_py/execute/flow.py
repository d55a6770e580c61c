"""The hot path: one executor's tuples, through its tasks and out to others.

A source tuple, or a bundle from another executor, is run to the end of what this executor can do for it: a task of the
same executor is called directly, with all that its neighbour emitted for one input, after the user function has
returned. Such an edge costs no ring, no id and no acker message. Only what leaves the executor, or is finished later,
gets an id, which enters the XOR of the tree being worked on.

The tree being worked on is in registers, fields of the flow, not in an object of its own:
    anchor  None: untracked. 0: a source tuple that no id was needed for yet. An int: its tree. A tuple: several trees.
    xor     the ids entered (made) and left (done) so far, for all trees of ``anchor`` alike
    reason  why it failed, None if it did not
    last    the task that was fed last
They belong to the executor's thread, like everything here. A flow is never re-entered for another tree: the component
graph has no cycle, and user code that runs later (async, batches, manual bolts) comes back through ``finish``.

This is the one place where speed comes before form. What each step of it gave was measured, and is in
docs/performance.md; calling direct targets in place of a ring alone is a factor of about three in the word count. The
plain version of the same rule is the reference interpreter in the tests.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import perf_counter, thread_time
from typing import Any, Protocol

from fsshelter_py.channel import Mailbox
from fsshelter_py.clock import Clock
from fsshelter_py.execute.bolt_task import BoltTask
from fsshelter_py.execute.delivery import HeldDelivery
from fsshelter_py.execute.emitter import DirectTuple, OwnEmitter, emitter
from fsshelter_py.execute.leg import Leg, Outlet, Target
from fsshelter_py.execute.task import Task
from fsshelter_py.execute.trees import Trees
from fsshelter_py.model.ids import StreamId
from fsshelter_py.model.outcome import NackReason
from fsshelter_py.post import Courier
from fsshelter_py.route import direct_index

__all__ = ["Flow", "Spawn"]

_SAMPLE_EVERY = 512
"""How many executed tuples lie between two calls that are timed, for a quick bolt: the clock of a thread's processor
time takes as long as some of them."""
_SAMPLE_SLOW_EVERY = 16
_SLOW_SECS = 50e-6


class Spawn(Protocol):
    """``spawn(coroutine, callback)`` calls ``callback(flow, result, error)``, one of the two None, in the executor's
    thread, and returns a handle that can be cancelled.
    """

    def __call__(
        self, awaitable: Awaitable[Any], callback: Callable[[Flow, Any, BaseException | None], None], /
    ) -> Any: ...


class Flow:
    """What one executor's tasks emit, on its way. ``sent`` and ``done`` count the bundles and deliveries that were
    made and finished here; over all executors they are equal exactly when nothing is in flight.
    """

    __slots__ = (
        "after",
        "anchor",
        "begun",
        "blocked",
        "clock",
        "courier",
        "dirty",
        "done",
        "flushing",
        "has_loop",
        "last",
        "mailbox",
        "new_anchor",
        "new_id",
        "reason",
        "sent",
        "spawn",
        "ticks",
        "trees",
        "xor",
    )

    emitter = staticmethod(emitter)
    own_emitter: type[OwnEmitter] = OwnEmitter
    stamp: Callable[[Any], Any] | None = None
    """What is made of a tuple that a manual bolt emits, in the emitting thread."""

    def __init__(self, mailbox: Mailbox, trees: Trees, clock: Clock, seed: int | None = None) -> None:
        self.mailbox = mailbox
        self.trees = trees
        self.clock = clock
        rng = random.Random(seed)
        bits = rng.getrandbits
        self.new_id: Callable[[], int] = lambda: bits(60) or 1
        self.new_anchor = self.new_id
        self.anchor: Any = None
        self.xor = 0
        self.reason: Any = None
        self.last: Any = None
        self.sent = 0
        self.done = 0
        self.ticks = 0
        """System ticks so far; only the system task writes it."""
        self.begun = 0
        """``ticks`` when the present source tuple was begun, or was given its time anew."""
        self.dirty: list[Outlet] = []
        """Outlets that got their first bundle in this turn."""
        self.blocked: list[Outlet] = []
        """Outlets that found their ring full. Invariant: each holds every task upstream of its own, once."""
        self.spawn: Spawn
        """Runs a coroutine, on an event loop beside the turns; without one (``has_loop``) to its end at once."""
        self.has_loop = False
        self.courier: Courier | None = None
        """Takes what goes to other processes, where there are any."""
        self.after: list[Callable[[], None]] = []
        """What deferred tasks want done once the tree being worked on is put aside."""
        self.flushing = False
        """The input has ended or the topology stops: batches do not wait for more."""

    # --- one tree, through the tasks of this executor ---------------------------------------------------------------

    def root(self, task: Task, tuple: Any) -> bool:
        """Run a source tuple. True: it is settled, by ``reason``; False: it went elsewhere, as the tree ``anchor``."""
        self.anchor = self.xor = 0
        self.reason = None
        self.last = task
        self.begun = self.ticks
        onward = task.onward.get(type(tuple))
        if onward is None:
            self.route(task, [tuple])
        else:
            task.emitted += 1
            self.feed(onward[0], onward[1], [tuple])
        if self.anchor == 0 or self.reason is not None:
            trees = self.trees
            if self.reason is None and self.ticks - self.begun >= trees.buckets and trees.expire_here:
                self.reason = NackReason("timeout", self.last.component, self.last.id)
            return True
        self.trees.track(self.anchor, task.id, self.xor, self.begun, self.last.id)
        return False

    def root_unfollowed(self, task: Task, tuple: Any) -> bool:
        """The same without an acker: it is settled, whatever becomes of it."""
        self.untracked(task, [tuple])
        return True

    def untracked(self, task: Task, tuples: list[Any]) -> None:
        """Run tuples that belong to no tree."""
        self.anchor = self.reason = None
        self.route(task, tuples)

    def bundles(self, task: BoltTask, bundles: deque[tuple[Leg, Any, int, list[Any]]], until: float) -> None:
        """Run what came from another executor, until a moment, or until the task is held for more than this."""
        feed, trees, task_id, now = self.feed, self.trees, task.id, self.clock.now
        while bundles and task.held == 1:
            leg, anchor, self.xor, tuples = bundles.popleft()
            self.anchor = anchor
            self.reason = None
            feed(task, leg, tuples)
            self.done += 1
            if anchor is not None:
                if self.reason is None:
                    trees.ok(anchor, self.xor, task_id)
                else:
                    trees.fail(anchor, self.reason)
            if self.after:
                self.run_after()
            if now() >= until:
                break

    def feed(self, task: BoltTask, leg: Leg, tuples: list[Any]) -> None:
        """Hand a task tuples of the tree being worked on, then route what it emitted; on along a chain of tasks."""
        while True:
            self.last = task
            if task.deferred:
                task.accept(leg, tuples, self)
                return
            consume, emit, emitted = task.consume, task.emit, task.emitted_now
            if emitted:
                task.drop_late()
            executed = task.executed
            started = cpu = 0.0
            if executed >= task.sample_at:
                started, cpu = perf_counter(), thread_time()
            if task.has_args:
                args = task.args
                for tuple in tuples:
                    try:
                        if (result := consume(args, tuple, emit)) is not None:
                            task.returned(result)
                    except BaseException as error:
                        self.blame(task, leg, error)
            else:
                for tuple in tuples:
                    try:
                        if (result := consume(tuple, emit)) is not None:
                            task.returned(result)
                    except BaseException as error:
                        self.blame(task, leg, error)
            count = len(tuples)
            task.executed = executed + count
            if started:
                took = (perf_counter() - started) / count
                task.sample_at = executed + (_SAMPLE_SLOW_EVERY if took > _SLOW_SECS else _SAMPLE_EVERY)
                task.latency.add(took, (thread_time() - cpu) / count)
            if not emitted:
                return
            tuples = emitted.copy()
            del emitted[: len(tuples)]
            if not leg.anchored:
                self.aside(task, tuples)
                return
            # One class, and one task of this executor that takes it: the same again for that task, without a call.
            kind = type(tuples[0])
            onward = task.onward.get(kind)
            if onward is None:
                self.route(task, tuples)
                return
            for tuple in tuples:
                if type(tuple) is not kind:
                    self.route(task, tuples)
                    return
            task.emitted += len(tuples)
            task, leg = onward

    def aside(self, task: Task, tuples: list[Any]) -> None:
        """Route tuples that do not join the tree being worked on; in their turn, since a pair of tasks keeps order."""
        anchor, reason = self.anchor, self.reason
        self.anchor = self.reason = None
        self.route(task, tuples)
        self.anchor, self.reason = anchor, reason

    def route(self, task: Task, emitted: list[Any]) -> None:
        """Send tuples of the tree being worked on to every subscriber of their streams."""
        task.emitted += len(emitted)
        kind = type(emitted[0])
        if kind is DirectTuple or (len(emitted) > 1 and len(set(map(type, emitted))) > 1):
            self._route_mixed(task, emitted)
            return
        try:
            legs = task.legs.get(kind)
            for leg in task.learn(kind) if legs is None else legs:
                target = leg.single
                if target is None:
                    targets = leg.targets
                    for index, part in leg.split(emitted):
                        target = targets[index]
                        if target.task is not None:
                            self.feed(target.task, leg, part)
                        else:
                            self.send(target.outlet, leg, part)
                elif target.task is not None:
                    self.feed(target.task, leg, emitted)
                else:
                    self.send(target.outlet, leg, emitted)
        except BaseException as error:  # a grouper or the class: other user code answers for itself in feed
            self.blame(task, None, error)

    def _route_mixed(self, task: Task, emitted: list[Any]) -> None:
        """Route runs of one class each, and direct tuples, in the order they were emitted."""
        task.emitted -= len(emitted)
        run: list[Any] = []
        for tuple in emitted:
            if type(tuple) is DirectTuple:
                if run:
                    self.route(task, run)
                    run = []
                self._direct(task, tuple)
            elif run and type(tuple) is not type(run[0]):
                self.route(task, run)
                run = [tuple]
            else:
                run.append(tuple)
        if run:
            self.route(task, run)

    def _direct(self, task: Task, direct: DirectTuple) -> None:
        task.emitted += 1
        try:
            kind = type(direct.tuple)
            legs = task.legs.get(kind)
            legs = task.learn(kind) if legs is None else legs
            legs_there = [leg for leg in legs if leg.direct and direct.task_id in leg.target_ids]
            if not legs_there:
                possible = [task_id for leg in legs if leg.direct for task_id in leg.target_ids]
                edge = f"{task.component} emitting {kind.__name__} directly"
                direct_index(possible, direct.task_id, edge=edge)
            for leg in legs_there:
                self.hand(leg.targets[leg.target_ids.index(direct.task_id)], leg, [direct.tuple])
        except BaseException as error:
            self.blame(task, None, error)

    def hand(self, target: Target, leg: Leg, tuples: list[Any]) -> None:
        """Feed a target of this executor, or send to one of another."""
        if target.task is not None:
            self.feed(target.task, leg, tuples)
        else:
            self.send(target.outlet, leg, tuples)

    def send(self, outlet: Any, leg: Leg, tuples: list[Any]) -> None:
        """Put a bundle of the tree being worked on in an outlet; it is offered at the end of the turn."""
        bundles = outlet.bundles
        if not bundles:
            self.dirty.append(outlet)
        self.sent += 1
        anchor = self.anchor
        if anchor is None:
            bundles.append((leg, None, 0, tuples))
            return
        id = self.new_id()
        self.xor ^= id
        if anchor == 0:
            anchor = self.anchor = self.new_anchor()
        bundles.append((leg, anchor, id, tuples))

    def blame(self, task: Task, leg: Leg | None, error: BaseException) -> None:
        """The tree being worked on failed in this task; the first reason counts."""
        stream = leg.stream if leg is not None else None
        if self.reason is None:
            self.reason = NackReason("failed", task.component, task.id, error, stream)
        task.blamed(error, stream, tracked=self.anchor is not None)

    # --- deliveries that are finished later -------------------------------------------------------------------------

    def retain(self, task: BoltTask, leg: Leg, tuple: Any) -> HeldDelivery:
        """Make a delivery of the tree being worked on that ``finish`` is called for later; it has an id of its own."""
        self.sent += 1
        anchor = self.anchor
        if anchor is None:
            return HeldDelivery(task, leg, None, 0, tuple)
        id = self.new_id()
        self.xor ^= id
        if anchor == 0:
            anchor = self.anchor = self.new_anchor()
        return HeldDelivery(task, leg, anchor, id, tuple)

    def run_after(self) -> None:
        """Do what deferred tasks left for when the tree being worked on was put aside, which it is now."""
        after = self.after
        while after:
            after.pop(0)()

    def emit_for(self, task: Task, deliveries: Sequence[HeldDelivery], emitted: list[Any]) -> None:
        """Route what a task emitted for deliveries that are not done yet: it joins the tree of each."""
        anchors = {a: None for d in deliveries if d.leg.anchored for a in d.anchors}
        self.anchor = None if not anchors else next(iter(anchors)) if len(anchors) == 1 else tuple(anchors)
        self.xor = 0
        self.reason = None
        self.route(task, emitted)
        if self.anchor is not None:
            if self.reason is not None:
                self.trees.fail(self.anchor, self.reason)
            elif self.xor:
                self.trees.ok(self.anchor, self.xor, task.id)

    def finish(self, delivery: HeldDelivery, error: BaseException | None) -> None:
        """A held delivery is done, or failed. What was emitted for it has been routed before."""
        self.done += 1
        task = delivery.task
        if error is not None:
            task.blamed(error, delivery.leg.stream, tracked=delivery.anchor is not None)
            if delivery.anchor is not None:
                reason = NackReason("failed", task.component, task.id, error, delivery.leg.stream)
                self.trees.fail(delivery.anchor, reason)
        elif delivery.anchor is not None:
            self.trees.ok(delivery.anchor, delivery.id, task.id)

    def undelivered(self, task: Task, anchors: Iterable[Any], stream: StreamId, error: BaseException) -> None:
        """Bundles got lost between this task and one of another process, which is the fault of their tuples."""
        for anchor in anchors:
            task.blamed(error, stream, tracked=anchor is not None)
            if anchor is not None:
                self.trees.fail(anchor, NackReason("failed", task.component, task.id, error, stream))
            self.done += 1

    # --- the end of a turn ------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Tell the ackers, then offer what has gathered; hold back the tasks whose way is blocked; send the letters."""
        self.trees.flush()
        if self.blocked:
            still = []
            for outlet in self.blocked:
                if outlet.flush(self.mailbox):
                    outlet.blocked = False
                    for task in outlet.task.upstream:
                        task.release()
                else:
                    still.append(outlet)
            self.blocked = still
        if self.dirty:
            dirty, self.dirty = self.dirty, []
            for outlet in dirty:
                if not outlet.blocked and not outlet.flush(self.mailbox):
                    outlet.blocked = True
                    self.blocked.append(outlet)
                    for task in outlet.task.upstream:
                        task.hold()
        if self.courier is not None:
            self.courier.leave()

    def reset_timeout(self) -> None:
        """Give the tree being worked on its time anew, at once."""
        self.begun = self.ticks  # of a tree that is not tracked yet; of another one nobody reads it
        if self.anchor:
            self.trees.reset_timeout(self.anchor)

    def renew(self, anchors: Sequence[int]) -> None:
        """Give trees their time anew, at once; their acker has to know of them first. By the executor's thread."""
        self.trees.flush()
        self.trees.reset_timeout(anchors)
