"""Metrics, as a reader of OpenTelemetry's own collects them."""

import gc
import logging
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    Gauge,
    InMemoryMetricReader,
    NumberDataPoint,
    Sum,
)

from fsshelter_py import Bolt, ComponentStats, Emit, Spout, Stats, run
from fsshelter_py.otel import instrument
from tests.shapes import Number, linked, numbers

STATS = Stats(
    topology="orders",
    state="running",
    uptime_secs=2.0,
    restarts=1,
    components={
        "source": ComponentStats(
            "source", "spout", 1, 1, emitted=9, acked=4, failed=3, timed_out=2, pending=2, dead=1, latency_ms=250.0
        ),
        "sink": ComponentStats("sink", "bolt", 2, 2, executed=8, acked=7, failed=1, pending=1, queued=5),
    },
)


class Hosted:
    """Says what it is told to."""

    def __init__(self, stats: Stats = STATS) -> None:
        self.now = stats

    def stats(self) -> Stats:
        """The snapshot given."""
        return self.now


class Metrics:
    """A provider of its own, and what is collected of it."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader])

    def collected(self) -> dict[str, Sum | Gauge]:
        """Each metric by its name; none of them twice."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        found = [metric for r in data.resource_metrics for scope in r.scope_metrics for metric in scope.metrics]
        assert len({metric.name for metric in found}) == len(found)
        return {m.name: m.data for m in found if isinstance(m.data, (Sum, Gauge)) and m.data.data_points}

    def values(self, name: str, *by: str) -> dict[object, float]:
        """The values of one metric by these attributes; by component where none is named."""
        data = self.collected().get(name)
        names = by or ("fsshelter.component",)
        points: Sequence[NumberDataPoint] = () if data is None else data.data_points
        keys = [tuple((p.attributes or {}).get(attribute) for attribute in names) for p in points]
        return {key[0] if len(key) == 1 else key: p.value for key, p in zip(keys, points, strict=True)}


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    made = Metrics()
    yield made
    made.provider.shutdown()


def test_each_count_is_a_metric_by_component(metrics: Metrics) -> None:
    """Spouts alone have dead tuples, bolts alone execute."""
    instrument(Hosted(), metrics.provider)

    assert metrics.values("fsshelter.emitted") == {"source": 9, "sink": 0}
    assert metrics.values("fsshelter.executed") == {"sink": 8}
    assert metrics.values("fsshelter.acked") == {"source": 4, "sink": 7}
    assert metrics.values("fsshelter.dead") == {"source": 1}
    assert metrics.values("fsshelter.pending") == {"source": 2, "sink": 1}
    assert metrics.values("fsshelter.queued") == {"source": 0, "sink": 5}
    assert metrics.values("fsshelter.restarts", "fsshelter.topology") == {"orders": 1}


def test_latency_is_in_seconds_and_left_out_until_it_is_measured(metrics: Metrics) -> None:
    """A gauge: its values cannot be added up."""
    instrument(Hosted(), metrics.provider)
    assert metrics.values("fsshelter.latency") == {"source": 0.25}
    assert isinstance(metrics.collected()["fsshelter.latency"], Gauge)


def test_failures_are_told_apart_where_that_is_known(metrics: Metrics) -> None:
    """Their sum is what failed."""
    instrument(Hosted(), metrics.provider)
    assert metrics.values("fsshelter.failed", "fsshelter.component", "error.type") == {
        ("source", "timeout"): 2,
        ("source", "_OTHER"): 1,
        ("sink", "_OTHER"): 1,
    }


def test_what_only_grows_is_monotonic_and_what_waits_is_not(metrics: Metrics) -> None:
    """So that backends take rates of the one, and show the other as it is."""
    instrument(Hosted(), metrics.provider)
    monotonic = {n.removeprefix("fsshelter.") for n, d in metrics.collected().items() if getattr(d, "is_monotonic", 0)}
    assert monotonic == {"emitted", "executed", "acked", "failed", "dead", "restarts"}


def test_two_topologies_share_the_instruments(metrics: Metrics, caplog: pytest.LogCaptureFixture) -> None:
    """The second one is reported too, and reporting one twice does not count it twice."""
    first, second = Hosted(), Hosted(Stats("other", "running", 1.0, 0, {}))
    with caplog.at_level(logging.WARNING):
        for hosted in (first, second, first):
            instrument(hosted, metrics.provider)
        assert metrics.values("fsshelter.restarts", "fsshelter.topology") == {"orders": 1, "other": 0}
    assert caplog.records == []


def test_nothing_is_reported_and_nothing_held_once_it_is_closed(metrics: Metrics) -> None:
    """A closed topology's memory is free, though its instruments stay with the provider."""
    hosted = Hosted()
    gone = weakref.ref(hosted)
    with instrument(hosted, metrics.provider):
        assert metrics.collected()
    assert metrics.collected() == {}
    del hosted
    gc.collect()
    assert gone() is None


def test_a_run_is_reported_as_it_ended(metrics: Metrics) -> None:
    """The real thing: counts of a topology that has run to its end."""

    def ignore(number: Number, emit: Emit[None]) -> None:
        if number.n == 3:
            raise ValueError(number)

    spout = Spout.replaying(lambda ctx: numbers(10), max_attempts=1).with_name("source")
    with run(linked((spout, Bolt.run(ignore).with_name("sink")))) as hosted, instrument(hosted, metrics.provider):
        hosted.wait(30)
        assert metrics.values("fsshelter.acked") == {"source": 9, "sink": 9}
        assert metrics.values("fsshelter.dead") == {"source": 1}


def test_a_global_provider_set_between_two_topologies_is_told_of_both() -> None:
    """In a process of its own, since it can be set but once."""
    program = """
import gc
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from fsshelter_py.otel import instrument
from fsshelter_py import Stats

class Hosted:
    def __init__(self, name):
        self.name = name

    def stats(self):
        return Stats(self.name, "running", 1.0, 7, {})

instrument(Hosted("before"))
gc.collect()
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
instrument(Hosted("after"))
instrument(Hosted("given"), metrics.get_meter_provider())
print(reader.get_metrics_data().to_json())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [name for name in ("before", "after", "given") if f'"{name}"' in done.stdout] == ["before", "after", "given"]


def test_without_opentelemetry_one_line_names_the_extra() -> None:
    """And the core does without."""
    program = "import sys; sys.modules['opentelemetry'] = None; import fsshelter_py; import fsshelter_py.otel"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'fsshelter_py[otel]'" in ran.stderr.splitlines()[-1]
