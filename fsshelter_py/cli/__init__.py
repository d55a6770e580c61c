"""The command ``fsshelter``: loads a topology file, runs it, shows it.

``app`` holds the commands; ``loader``, ``parameters`` and ``topologies`` turn a file and its settings into a topology;
``session`` runs it, drained by ``signals``; ``live``, ``report`` and, in the browser, ``watching`` show it; ``prints``
and ``logs`` are what it writes; ``problem`` and ``failure`` tell what went wrong.

May import everything of this package but ``testing``, ``sources`` and ``spark``; ``ui`` only where it is asked for, as
that takes an extra.
"""

from fsshelter_py.cli.app import main

__all__ = ["main"]
