"""Random topologies over several processes do what the reference interpreter says."""

import threading
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fsshelter_py.testing import run_to_end
from tests.random_topology import Journal, build, differences, draw_plan
from tests.workers.shared_book import SharedBook


def in_a_thread(job: Any) -> None:
    threading.Thread(target=job).start()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("workers", [2, 3])
def test_topology_over_processes_does_what_the_reference_says(workers: int, seed: int) -> None:
    """Every source tuple settled once, every delivery made, every key of a fields grouping on one task."""
    rng = Random(seed * 7 + workers)
    plan = draw_plan(rng.randint)
    with TemporaryDirectory() as directory:
        journal = Journal(SharedBook(Path(directory) / "received"), SharedBook(Path(directory) / "settled"))
        topology, _ = build(plan, in_a_thread, journal)
        topology = topology.with_conf(workers=workers, spout_workers=rng.choice(["main", "spread"]))
        summary = run_to_end(topology)
        for spout in plan.spouts:
            stats = summary.components[spout.name]
            assert stats.emitted == spout.count
            assert stats.acked + stats.failed == (spout.count if spout.reliable else 0)
            assert stats.pending == 0
        assert differences(plan, topology, journal) == []
