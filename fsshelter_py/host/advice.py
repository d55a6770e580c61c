"""Noticing a placement that wastes time, and saying once what to change. Pure: the caller takes the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsshelter_py.model.ids import ComponentId

__all__ = ["Advice", "Advisor", "ExecutorSample"]

_WINDOWS = 3
_BUSY = 0.8
_IDLE_CPU = 0.3
_ONE_CORE = (0.8, 1.25)


@dataclass(frozen=True, slots=True)
class ExecutorSample:
    """What one executor did in a window, in seconds.

    busy: awake. cpu: of that, on a processor. queued: of that, waiting for a processor that others have.
    is_shared: whether it serves several components.
    waits: by bolt, the share of its calls spent waiting.
    """

    name: str
    busy: float
    cpu: float
    queued: float
    is_shared: bool
    waits: Mapping[ComponentId, float]


@dataclass(frozen=True, slots=True)
class Advice:
    """An event for the log: what was seen of whom, and what to change."""

    event: str
    subject: str
    hint: str


class Advisor:
    """Looks at window after window, and speaks when the same thing was true of three in a row.

    Two things are told apart by the processor time of all threads together: where it adds up to about one core, busy
    threads wait for the interpreter; where it is much less, they wait for something else.
    """

    def __init__(self, *, has_lock: bool = True) -> None:
        """has_lock: whether threads share an interpreter lock; without one they have no reason to fight for it."""
        self._has_lock = has_lock
        self._seen: dict[tuple[str, str], int] = {}
        self._said: set[tuple[str, str]] = set()

    def observe(self, samples: Sequence[ExecutorSample], secs: float) -> list[Advice]:
        """What there is to say after a window of so many seconds."""
        cpu = sum(sample.cpu for sample in samples) / secs
        busy = [sample for sample in samples if sample.busy / secs >= _BUSY]
        found: dict[tuple[str, str], Advice] = {}
        if self._has_lock and len(busy) > 1 and _ONE_CORE[0] <= cpu <= _ONE_CORE[1]:
            names = ", ".join(sorted(sample.name for sample in busy))
            found["threads_fight_for_interpreter", ""] = Advice(
                "threads_fight_for_interpreter",
                names,
                "these threads have one core between them; placement='shared' or fewer tasks may be faster",
            )
        elif cpu < _ONE_CORE[0]:
            for sample in busy:
                if sample.is_shared and sample.waits and (sample.cpu + sample.queued) / sample.busy <= _IDLE_CPU:
                    component = max(sample.waits, key=lambda name: sample.waits[name])
                    if sample.waits[component] > 1 - _IDLE_CPU:
                        found["component_waits_on_shared_executor", component] = Advice(
                            "component_waits_on_shared_executor",
                            component,
                            "it holds up those that share its thread; give it .with_executors(n) or make it async",
                        )
        self._seen = {key: self._seen.get(key, 0) + 1 for key in found}
        new = [key for key in found if self._seen[key] >= _WINDOWS and key not in self._said]
        self._said.update(new)
        return [found[key] for key in new]
