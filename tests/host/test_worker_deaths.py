"""A worker process that dies is started again at once, unless it would die again."""

from fsshelter_py.host.restart_policy import RestartPolicy


def test_death_after_an_ack_is_neither_waited_for_nor_counted() -> None:
    """However often it comes."""
    policy = RestartPolicy(5, 30, 60)
    for _ in range(100):
        policy.worker_died(acked=1, ran_secs=0.1)
        assert not policy.is_exhausted
        assert policy.wait_secs == 0


def test_death_before_any_ack_counts_as_any_failure() -> None:
    """It waits, and is the last one after five."""
    policy = RestartPolicy(5, 30, 60)
    waits = []
    while not policy.is_exhausted:
        policy.worker_died(acked=0, ran_secs=0.1)
        waits.append(policy.wait_secs)
    assert waits == [2, 4, 8, 16, 30, 30]


def test_failure_after_a_death_waits_again() -> None:
    """From the beginning: the run that a death ended was healthy."""
    policy = RestartPolicy(5, 30, 60)
    policy.failed(0.1)
    policy.worker_died(acked=1, ran_secs=0.1)
    policy.failed(0.1)
    assert policy.wait_secs == 2


def test_death_ends_a_topology_that_is_not_restarted() -> None:
    """``run_no_restart``."""
    policy = RestartPolicy(0, 30, 60)
    policy.worker_died(acked=1, ran_secs=0.1)
    assert policy.is_exhausted
