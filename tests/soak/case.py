"""One random topology, run, disturbed, stopped and run again until its sources are empty."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from random import Random
from typing import Any

from fsshelter_py import Hosted, Summary, Topology, TopologyFailedError, run_with
from tests.random_plan import Plan, draw_plan
from tests.random_topology import Settlers, build, differences
from tests.soak.chaos import Chaos, with_one_anchoring_a_bolt
from tests.soak.faults import Faults, Killed, is_injected
from tests.soak.kept_queue import Rules
from tests.soak.log import Log
from tests.soak.tally import Tally

__all__ = ["HungError", "run_case"]

_HANG_SECS = 90.0
_RUNS = 100


class HungError(Exception):
    """A topology that does not end."""


def run_case(seed: int, tally: Tally) -> str:
    """Run the case of this seed; what it was, for a report. Raises ``HungError``."""
    random = Random(seed)
    plan = draw_plan(random.randint, tuples=random.choice((5, 60, 400)), deliveries=2000)
    tally.count("topologies")
    if random.random() < 0.15:
        _calm(plan, tally)
    else:
        _stormy(plan, random, tally)
    return repr(plan)


def _calm(plan: Plan, tally: Tally) -> None:
    """Nothing is injected but the failures that the reference interpreter knows of; its answer must be given."""
    with Settlers() as later:
        topology, journal = build(plan, later)
        _wait(run_with(Log(tally).start_log, topology))
    tally.count("tuples", len(journal.settled))
    tally.count("deliveries", len(journal.received))
    for difference in differences(plan, topology, journal):
        tally.problem(f"differs from the reference: {difference}")


def _stormy(plan: Plan, random: Random, tally: Tally) -> None:
    later: Any = Settlers() if random.random() < 0.7 else nullcontext(lambda job: job())
    with later as settle:
        chaos = _chaos(plan, random, tally, settle)
        topology = chaos.build()
        for _ in range(_RUNS):
            ended_by_itself = _run(topology, chaos, random, tally)
            left = sum(queue.left for queue in chaos.queues.values())
            if ended_by_itself and left:
                tally.problem(f"ended by itself with {left} numbers left")
            if ended_by_itself or not left or tally.problems:
                return
        tally.problem(f"after {_RUNS} runs there are still numbers left")


def _chaos(plan: Plan, random: Random, tally: Tally, settle: Any) -> Chaos:
    timeout = random.choice((0.1, 0.3, 1.0, 30.0))
    expires = random.random() < 0.9
    conf = {
        **plan.conf,
        "acker_tasks": random.choice((0, 1, 1, 2, 3)),
        "message_timeout_secs": timeout,
        "enable_message_timeouts": expires,
        "timeout_mode": random.choice(("emit", "emit", "progress")),
        "sleep_spout_wait_strategy_time_ms": random.choice((0, 5, 100)),
        "worker_shutdown_sleep_secs": random.choice((0, 0.2, 2, 10)),
        "max_restarts": random.choice((0, 2, 5, 50)),
        "restart_max_backoff_secs": random.choice((0, 0.05, 0.3)),
        "restart_reset_secs": random.choice((0.05, 60)),
    }
    plan = replace(with_one_anchoring_a_bolt(plan), conf=conf)
    rules = Rules(
        timeout_secs=timeout,
        may_expire=expires and timeout < 30,
        max_pending=conf["max_spout_pending"],
        failures_known=plan.is_exact,
        acks_at_once=conf["acker_tasks"] == 0,
    )
    crash = random.choice((0.0, 0.003, 0.02))
    drops = expires and timeout <= 1 and conf["acker_tasks"] > 0
    menu = {
        "failed delivery": (random.choice((0.0, 0.01, 0.1, 0.4)), 300),
        "stall in a bolt": (random.choice((0.0, 0.002, 0.02)), 4),
        "stall in next": (random.choice((0.0, 0.01)), 2),
        "crash in next": (crash, 3),
        "crash in ack": (crash, 2),
        "crash in nack": (crash, 2),
        "crash in make_args of a spout": (10 * crash, 2),
        "crash in make_args of a bolt": (3 * crash, 2),
        "crash in deactivate": (0.2, 3),
        "kill of a thread": (random.choice((0.0, 0.1)), 2),
        "stop": (random.choice((0.0, 0.03, 0.1)), 4),
        "stop by a task": (random.choice((0.0, 0.005)), 2),
        "nothing now": (random.choice((0.0, 0.05)), 50),
        "never settled": (random.choice((0.0, 0.05)) if drops else 0.0, 6),
        "settled twice": (0.05, 50),
        "reset of a timeout": (0.02, 200),
    }
    return Chaos(
        plan,
        rules,
        attempts=random.choice((2, 5, 12)),
        slow={bolt.name: random.choice((0.0, 0.0, 0.0, 0.0003, 0.001)) for bolt in plan.bolts},
        stall=(0.5 * min(timeout, 1.0), 1.7 * min(timeout, 1.0)),
        replayed=frozenset(s.name for s in plan.spouts if s.reliable and random.random() < 0.2),
        ticking=frozenset(b.name for b in plan.bolts if random.random() < 0.3),
        faults=Faults(Random(random.random()), menu, tally),
        tally=tally,
        later=settle,
    )


def _run(topology: Topology, chaos: Chaos, random: Random, tally: Tally) -> bool:
    """Run it once; whether it came to its end by itself."""
    chaos.contexts.clear()
    stops = chaos.faults.left("stop") + chaos.faults.left("stop by a task")
    counted = {name: (queue.emitted, queue.acked, queue.nacked) for name, queue in chaos.queues.items()}
    late = tally["stuck_in_handler"]
    hosted = run_with(Log(tally).start_log, topology)
    failed = False
    with _disturbed(hosted, chaos, Random(random.random()), tally):
        try:
            summary = _wait(hosted)
        except TopologyFailedError as error:
            failed = True
            tally.count("failed for good")
            if not all(is_injected(one) or "died" in str(one) for one in error.errors):
                tally.problem(f"failed of something else: {error!r}, {error.errors}")
            stats = hosted.stats()
            assert isinstance(stats, Summary)
            summary = stats
    tally.count("runs")
    tally.count("restarts", summary.restarts)
    told_late = tally["stuck_in_handler"] > late
    if told_late:  # the machine is too busy: the spouts given up are still being told
        for thread in threading.enumerate():
            if thread.name.startswith("fsshelter:abandon"):
                thread.join(_HANG_SECS)
    for name, queue in chaos.queues.items():
        queue.end_run()
        now = summary.components[name]
        had = counted[name]
        told = (queue.emitted - had[0], queue.acked - had[1], queue.nacked - had[2])
        if (now.emitted, now.acked, now.failed) != told and not told_late:
            tally.problem(f"{name}: told (emitted, acked, nacked) {told}, counted {now}")
    for name in chaos.replayed:
        spout = summary.components[name]
        tally.count("acked", spout.acked)
        tally.count("nacked", spout.failed)
        if spout.emitted != spout.acked + spout.failed and not told_late:
            tally.problem(f"{name}: emitted is not acked + nacked: {spout}")
    stopped = stops > chaos.faults.left("stop") + chaos.faults.left("stop by a task")
    return not (failed or stopped)


def _wait(hosted: Hosted) -> Summary:
    try:
        return hosted.wait(_HANG_SECS)
    except TimeoutError as error:
        raise HungError(f"{error}: {hosted.stats()}") from error


@contextmanager
def _disturbed(hosted: Hosted, chaos: Chaos, random: Random, tally: Tally) -> Iterator[None]:
    """While this lasts, ask it for its figures, kill its threads, wake its spouts and stop it, now and then."""
    over = threading.Event()

    def disturb() -> None:
        try:
            while not over.wait(random.uniform(0.001, 0.1)):
                hosted.stats()
                if chaos.contexts and random.random() < 0.3:
                    random.choice(list(chaos.contexts)).wake()
                if chaos.faults.hit("stop"):
                    hosted._ask_stop(random.choice((None, 0.0, 0.1, 5.0)))
                if chaos.faults.hit("kill of a thread"):
                    _kill(hosted, random)
        except BaseException as error:
            tally.problem(f"the disturber met {error!r}")

    disturber = threading.Thread(target=disturb, name="soak:disturber")
    disturber.start()
    try:
        yield
    finally:
        over.set()
        disturber.join()


def _kill(hosted: Hosted, random: Random) -> None:
    """End the thread of an executor, between two turns."""

    def die(now: float) -> int:
        raise Killed

    runtime = hosted._runtime
    if runtime is not None:
        vars(random.choice(runtime.executors))["idle_ms"] = die
