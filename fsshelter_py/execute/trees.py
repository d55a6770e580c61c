"""What an executor has to tell the ackers of the trees it worked on, gathered over a turn and sent once.

Belongs to one executor and is used by its thread only, except ``reset_timeout``, which any thread may call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fsshelter_py.model.ids import TaskId
from fsshelter_py.model.message import AckerUpdates, ResetTimeout
from fsshelter_py.model.outcome import NackReason

__all__ = ["AckerPort", "Trees"]


class AckerPort:
    """The way to one acker: ``tell`` delivers a turn's updates, ``put`` a message at once."""

    __slots__ = ("put", "tell")

    def __init__(self, tell: Callable[[AckerUpdates], None], put: Callable[[Any], None]) -> None:
        self.tell = tell
        self.put = put


class Trees:
    """Updates by acker; the acker of a tree is its anchor modulo their number."""

    __slots__ = ("_fails", "_oks", "_ports", "_several", "_touched", "_tracks", "buckets", "enabled")

    def __init__(self, ports: Sequence[AckerPort], buckets: int = 3) -> None:
        self._ports = tuple(ports)
        self._several = len(self._ports) > 1
        self.enabled = bool(self._ports)
        """Whether there is an acker at all; without one nothing is tracked."""
        self.buckets = buckets
        self._tracks: list[tuple[int, TaskId, int]] = []
        self._oks: dict[int, int] = {}
        self._fails: list[tuple[int, NackReason]] = []
        self._touched: dict[int, TaskId] = {}

    def track(self, anchor: int, task_id: TaskId, xor: int) -> None:
        """A source tuple was emitted; ``xor`` folds the ids of what it caused."""
        self._tracks.append((anchor, task_id, xor))

    def ok(self, anchor: Any, xor: int, task_id: TaskId) -> None:
        """Something was done, or caused, in a tree or in several."""
        oks, touched = self._oks, self._touched
        if type(anchor) is int:
            oks[anchor] = oks.get(anchor, 0) ^ xor
            touched[anchor] = task_id
        else:
            for one in anchor:
                oks[one] = oks.get(one, 0) ^ xor
                touched[one] = task_id

    def fail(self, anchor: Any, reason: NackReason) -> None:
        """A tree, or several, failed."""
        for one in (anchor,) if type(anchor) is int else anchor:
            self._fails.append((one, reason))

    def flush(self) -> None:
        """Send what has gathered. Telling an acker of this very executor may settle trees, but adds no updates."""
        if not (self._oks or self._tracks or self._fails):
            return
        updates = AckerUpdates(self._tracks, self._oks, self._fails, self._touched)
        self._tracks, self._oks, self._fails, self._touched = [], {}, [], {}
        if not self._several:
            self._ports[0].tell(updates)
            return
        count = len(self._ports)
        parts = [AckerUpdates([], {}, [], {}) for _ in self._ports]
        for track in updates.tracks:
            parts[track[0] % count].tracks.append(track)
        for anchor, xor in updates.oks.items():
            part = parts[anchor % count]
            part.oks[anchor] = xor
            part.touched[anchor] = updates.touched[anchor]
        for fail in updates.fails:
            parts[fail[0] % count].fails.append(fail)
        for port, part in zip(self._ports, parts, strict=True):
            if part.tracks or part.oks or part.fails:
                port.tell(part)

    def reset_timeout(self, anchor: Any) -> None:
        """Give a tree, or several, their time anew, at once."""
        for one in (anchor,) if type(anchor) is int else anchor:
            self._ports[one % len(self._ports)].put(ResetTimeout(one))
