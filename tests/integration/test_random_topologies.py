"""Random topologies do what the reference interpreter says: with threads, and stepped in random orders."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsshelter_py.testing import TopologyHarness, run_to_end
from tests.random_topology import Plan, Settlers, build, differences, draw_plan


@st.composite
def plans(draw: Any) -> Plan:
    return draw_plan(lambda low, high: int(draw(st.integers(low, high))))


def check_summary(plan: Plan, summary: Any) -> None:
    """What the summary counts of the spouts is what they emitted."""
    for spout in plan.spouts:
        stats = summary.components[spout.name]
        assert stats.emitted == spout.count
        assert stats.acked + stats.failed == (spout.count if spout.reliable else 0)
        assert stats.pending == 0


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans(), seed=st.integers(0, 1000))
def test_stepped_topology_does_what_the_reference_says(plan: Plan, seed: int) -> None:
    """Every source tuple settled once, every delivery made, every key of a fields grouping on one task."""
    topology, journal = build(plan, lambda job: job())
    with TopologyHarness(topology, seed) as harness:
        check_summary(plan, harness.run_to_end())
    assert differences(plan, topology, journal) == []


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans())
def test_topology_with_threads_does_what_the_reference_says(plan: Plan) -> None:
    """The same, with manual bolts settled from other threads."""
    with Settlers() as later:
        topology, journal = build(plan, later)
        check_summary(plan, run_to_end(topology, timeout=60))
    assert differences(plan, topology, journal) == []
