"""A hosted topology's counts as OpenTelemetry metrics. Needs the extra ``otel``.

    provider = MeterProvider([PeriodicExportingMetricReader(exporter)])
    with run(topology) as hosted, instrument(hosted, provider):
        hosted.wait()
        provider.force_flush()

Every metric but ``fsshelter.restarts`` is by component: its attributes are ``fsshelter.topology``,
``fsshelter.component`` and ``fsshelter.kind``, which is ``spout`` or ``bolt``. What they count is told by
``fsshelter_py.ComponentStats``. A failure has an ``error.type`` too: ``timeout`` where a source tuple was not settled
in time, ``_OTHER`` elsewhere. Nothing is measured between two collections. Where the metrics go is the program's to
say: there is no exporter here.

May import everything below ``testing``; nothing of this package imports it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Protocol, Self, TypeAlias
from weakref import WeakKeyDictionary

from fsshelter_py.model.stats import ComponentStats, Stats

try:
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation, get_meter_provider
except ImportError as error:
    raise ImportError(
        f"fsshelter_py.otel needs {error.name}, which is not installed: pip install 'fsshelter_py[otel]'"
    ) from None

__all__ = ["Counted", "Instrumentation", "instrument"]

Attributes: TypeAlias = dict[str, str]
Measured: TypeAlias = Iterable[tuple[float, Attributes]]
"""Values of one metric, each with the attributes it has beside those of its topology and component."""

TOPOLOGY: Final = "fsshelter.topology"
COMPONENT: Final = "fsshelter.component"
KIND: Final = "fsshelter.kind"
ERROR_TYPE: Final = "error.type"


class Counted(Protocol):
    """What is asked of a hosted topology; see ``fsshelter_py.Hosted``."""

    def stats(self) -> Stats:
        """A snapshot, from any thread."""
        ...


class Instrumentation:
    """A hosted topology that is being reported; a context manager that ends it."""

    def __init__(self, instruments: _Instruments, hosted: Counted) -> None:
        self._instruments = instruments
        self._hosted = hosted
        instruments.add(hosted)

    def close(self) -> None:
        """Report it no more, and hold it no more. Its counts are reported last at the collection before this."""
        self._instruments.remove(self._hosted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def instrument(hosted: Counted, meter_provider: MeterProvider | None = None) -> Instrumentation:
    """Report a hosted topology's counts at every collection, until the result is closed.

    meter_provider: the program's global one by default, also where that is set later. A topology that has ended is
    reported as it ended. Reporting one twice to the same provider counts it once, until either is closed; to tell two
    of the same topology apart, give them names.
    """
    return Instrumentation(_made.instruments_of(meter_provider), hosted)


class _Instruments:
    """The instruments of one meter provider, for all topologies that are reported to it.

    Shared, because an instrument cannot be taken back, and one made a second time keeps the first one's callbacks.

    Thread contract: any thread adds and removes, collecting threads read; a tuple replaced under a lock is never seen
    half changed.
    """

    def __init__(self, provider: MeterProvider) -> None:
        # Held on to: a meter got before the global provider is set makes its instruments anew when that is done, unless
        # it is gone.
        self._meter = provider.get_meter("fsshelter_py")
        self._lock = threading.Lock()
        self._hosted: tuple[Counted, ...] = ()
        _define(self._meter, self._observing)

    def add(self, hosted: Counted) -> None:
        """Report it from now on."""
        with self._lock:
            if not any(known is hosted for known in self._hosted):
                self._hosted += (hosted,)

    def remove(self, hosted: Counted) -> None:
        """Report it no more."""
        with self._lock:
            self._hosted = tuple(known for known in self._hosted if known is not hosted)

    def _observing(self, measure: Callable[[Stats], Measured]) -> list[Callable[[CallbackOptions], list[Observation]]]:
        return [partial(self._observe, measure)]

    def _observe(self, measure: Callable[[Stats], Measured], _: CallbackOptions) -> list[Observation]:
        snapshots = (hosted.stats() for hosted in self._hosted)
        return [
            Observation(value, {TOPOLOGY: stats.topology, **attributes})
            for stats in snapshots
            for value, attributes in measure(stats)
        ]


class _Made:
    """The instruments there are. Any thread asks for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_provider: WeakKeyDictionary[MeterProvider, _Instruments] = WeakKeyDictionary()
        # Kept apart: until the program sets its global provider another one stands for it, and hands on what it has.
        self._of_global: _Instruments | None = None

    def instruments_of(self, given: MeterProvider | None) -> _Instruments:
        """Those of a provider; of the global one where none is given."""
        current = get_meter_provider()
        provider = current if given is None else given
        with self._lock:
            found = self._by_provider.get(provider)
            if found is None and provider is current:
                found = self._of_global
            if found is None:
                found = self._by_provider[provider] = _Instruments(provider)
                if provider is current:
                    self._of_global = found
            return found


_made = _Made()


def _define(
    meter: Meter,
    observing: Callable[[Callable[[Stats], Measured]], list[Callable[[CallbackOptions], list[Observation]]]],
) -> None:
    for name, unit, count, doc in (
        ("emitted", "{tuple}", _all(lambda c: c.emitted), "Tuples emitted, each once however many receive it."),
        ("executed", "{tuple}", _bolts(lambda c: c.executed), "Deliveries handled by a bolt."),
        ("acked", "{tuple}", _all(lambda c: c.acked), "Source tuples of a spout, or deliveries of a bolt, acked."),
        ("failed", "{tuple}", _failed, "Source tuples of a spout, or deliveries of a bolt, failed."),
        ("dead", "{tuple}", _spouts(lambda c: c.dead), "Source tuples that a replaying spout gave up."),
        ("restarts", "{restart}", lambda stats: [(stats.restarts, {})], "Restarts of the topology."),
    ):
        meter.create_observable_counter(f"fsshelter.{name}", observing(count), unit, doc)
    for name, count, doc in (
        ("pending", _all(lambda c: c.pending), "Unsettled source tuples of a spout, or deliveries a bolt is at."),
        ("queued", _all(lambda c: c.queued), "Tuples that wait in a component's rings."),
    ):
        meter.create_observable_up_down_counter(f"fsshelter.{name}", observing(count), "{tuple}", doc)
    latency = "Mean of a sample: from emit to settled for a spout, the user function for a bolt."
    meter.create_observable_gauge("fsshelter.latency", observing(_latency), "s", latency)


def _all(count: Callable[[ComponentStats], int]) -> Callable[[Stats], Measured]:
    return lambda stats: [(count(c), _of(c)) for c in stats.components.values()]


def _spouts(count: Callable[[ComponentStats], int]) -> Callable[[Stats], Measured]:
    return lambda stats: [(count(c), _of(c)) for c in stats.spouts]


def _bolts(count: Callable[[ComponentStats], int]) -> Callable[[Stats], Measured]:
    return lambda stats: [(count(c), _of(c)) for c in stats.bolts]


def _failed(stats: Stats) -> Iterator[tuple[float, Attributes]]:
    for c in stats.components.values():
        if c.kind == "spout":
            yield c.timed_out, {**_of(c), ERROR_TYPE: "timeout"}
        yield c.failed - c.timed_out, {**_of(c), ERROR_TYPE: "_OTHER"}


def _latency(stats: Stats) -> Measured:
    return [(c.latency_ms / 1000, _of(c)) for c in stats.components.values() if c.latency_ms is not None]


def _of(component: ComponentStats) -> Attributes:
    return {COMPONENT: component.component, KIND: component.kind}
