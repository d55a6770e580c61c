"""Any tree, its messages in any order that can come about: the same outcome, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py.ack import Acker, Settled


@dataclass(eq=False)
class Message:
    """A call to the acker about one tree. after: messages that must have been sent before it."""

    call: Literal["track", "anchor", "ok", "fail"]
    tree: int
    xor: int
    after: list[Message] = field(default_factory=list)

    def send(self, acker: Acker) -> Settled | None:
        if self.call == "track":
            return acker.track(self.tree, self.tree % 3, ("tuple", self.tree), self.xor)
        if self.call == "fail":
            return acker.fail(self.tree)
        return acker.anchor(self.tree, self.xor) if self.call == "anchor" else acker.ok(self.tree, self.xor)


@st.composite
def trees(draw: st.DrawFn, tree: int) -> list[Message]:
    """The messages of one random tree of up to 10 deliveries.

    Ids are powers of two, so that no two sets of them have one XOR. A delivery that fails causes nothing. A single
    child may have its parent's id, as the runtime does. What a delivery causes is folded into its ok or sent
    before it as an anchor of its own, and then has new ids, as with a manual bolt.
    """
    parents = [draw(st.integers(-1, i - 1)) for i in range(draw(st.integers(1, 10)))]
    parents[0] = -1
    failing = draw(st.sets(st.integers(0, len(parents) - 1), max_size=2)) if draw(st.booleans()) else set()
    lost: set[int] = set()  # below a failing delivery, so never made
    for i, parent in enumerate(parents):
        if parent in failing or parent in lost:
            lost.add(i)
    made = [i for i in range(len(parents)) if i not in lost]

    def children(of: int) -> list[int]:
        return [i for i in made if parents[i] == of]

    anchored = {i for i in (-1, *made) if draw(st.booleans())}
    ids: dict[int, int] = {}
    for i in made:
        parent = parents[i]
        inherits = parent >= 0 and parent not in anchored and len(children(parent)) == 1 and draw(st.booleans())
        ids[i] = ids[parent] if inherits else 1 << i

    caused = {i: reduce(xor, [ids[child] for child in children(i)], 0) for i in (-1, *made)}
    roots = [Message("anchor", tree, caused[-1])] if -1 in anchored else []
    messages = [Message("track", tree, 0 if roots else caused[-1]), *roots]
    for i in made:
        if i in failing:
            messages.append(Message("fail", tree, 0))
        elif i in anchored:
            sent = Message("anchor", tree, caused[i])
            messages += [sent, Message("ok", tree, ids[i], after=[sent, *roots])]
        else:
            messages.append(Message("ok", tree, ids[i] ^ caused[i], after=roots))
    return messages


def in_an_order(draw: st.DrawFn, messages: list[Message]) -> list[Message]:
    ordered: dict[Message, None] = {}
    for message in draw(st.permutations(messages)):
        ordered |= dict.fromkeys(message.after)
        ordered[message] = None
    return list(ordered)


@st.composite
def interleavings(draw: st.DrawFn) -> list[Message]:
    """The messages of one to three trees, in any order in which each comes after what it must."""
    return in_an_order(draw, [message for tree in range(draw(st.integers(1, 3))) for message in draw(trees(tree))])


@given(interleavings())
def test_every_interleaving_settles_each_tree_once_and_alike(messages: list[Message]) -> None:
    """A tree with a failure is nacked, another acked, and that only when nothing of it is outstanding."""
    acker = Acker()
    outcomes: dict[object, str] = {}
    for position, message in enumerate(messages):
        settled = message.send(acker)
        if settled is None:
            continue
        tree = message.tree
        assert settled.tuple_id == ("tuple", tree)
        assert settled.task == tree % 3
        assert tree not in outcomes
        outcomes[tree] = settled.outcome
        if settled.outcome == "acked":
            assert all(m.call == "ok" and m.xor == 0 for m in messages[position + 1 :] if m.tree == tree)
    assert outcomes == {
        tree: "nacked" if any(m.call == "fail" for m in messages if m.tree == tree) else "acked"
        for tree in {message.tree for message in messages}
    }
    assert len(acker) == 0


@given(interleavings(), st.data())
def test_tree_with_a_lost_ok_or_fail_never_acks(messages: list[Message], data: st.DataObject) -> None:
    """A tree of which a delivery is never heard of again is nacked when its time is up."""
    counting = [m for m in messages if m.call == "fail" or (m.call == "ok" and m.xor)]
    lost = data.draw(st.sampled_from(counting)) if counting else None
    acker = Acker()
    settled = [m.send(acker) for m in messages if m is not lost]
    settled += [expired for _ in range(3) for expired in acker.tick()]
    outcomes = {s.tuple_id: s.outcome for s in settled if s is not None}
    assert len(outcomes) == sum(s is not None for s in settled) == len({m.tree for m in messages})
    if lost is not None:
        assert outcomes["tuple", lost.tree] == "nacked"
