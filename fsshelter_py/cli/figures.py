"""Figures as people read them, and the rates behind them. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from fsshelter_py.model.ids import ComponentId
from fsshelter_py.model.stats import ComponentStats, Stats

__all__ = ["Rates", "compact", "elapsed", "latency", "plural"]


def compact(number: float) -> str:
    """At most five characters or so, for a column.

    >>> compact(950), compact(12_345), compact(1_000_000), compact(0.4)
    ('950', '12.3k', '1.0M', '0.4')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if number >= size:
            return f"{number / (1e3 if unit == 'k' else size):.1f}{unit}"
    return f"{number:.1f}" if 0 < number < 10 and number != int(number) else f"{number:.0f}"


def latency(milliseconds: float | None) -> str:
    """A latency in the unit that suits it; a dash where none was measured."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1:
        return f"{milliseconds * 1000:.0f} us"
    return f"{milliseconds:.1f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def elapsed(seconds: float) -> str:
    """How long something took.

    >>> elapsed(1.234), elapsed(75), elapsed(3725)
    ('1.2 s', '1:15', '1:02:05')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, rest = divmod(int(seconds), 3600)
    minutes, whole = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"


def plural(number: int, noun: str) -> str:
    """``1 tuple``, ``2 tuples``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


class Rates:
    """Tuples a second of each component, over the last ``window`` seconds: emitted by a spout, handled by a bolt."""

    def __init__(self, window: float = 3.0) -> None:
        self._window = window
        # Newest last; the first is the youngest that is at least a window older than the last, where there is one.
        self._samples: deque[tuple[float, Mapping[ComponentId, int]]] = deque([(0.0, {})])

    def feed(self, stats: Stats) -> dict[ComponentId, float]:
        """Take a snapshot, and give the rates up to it."""
        now = stats.uptime_secs
        counts = {name: _work(component) for name, component in stats.components.items()}
        if now < self._samples[-1][0]:
            self._samples.clear()
        self._samples.append((now, counts))
        while len(self._samples) > 2 and self._samples[1][0] <= now - self._window:
            self._samples.popleft()
        then, before = self._samples[0]
        if now <= then:
            return dict.fromkeys(counts, 0.0)
        return {name: max(0, count - before.get(name, 0)) / (now - then) for name, count in counts.items()}


def _work(component: ComponentStats) -> int:
    return component.emitted if component.kind == "spout" else component.executed
