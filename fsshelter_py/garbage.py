"""Python's collector of garbage cycles, for a process that does nothing else than run a topology.

Imports nothing of this package.
"""

from __future__ import annotations

import gc

__all__ = ["collect_less"]


def collect_less() -> None:
    """Look for garbage cycles less often: tuples in flight make none, and are many where tasks have their own threads.

    There the default thresholds took a fifth of the time of a word count. Reference counting goes on as ever. It is a
    setting of the whole process: a library leaves it to whoever owns that, here the command line and worker processes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
