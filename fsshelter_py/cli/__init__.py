"""The command ``fsshelter``: loads a topology file, runs it, shows it.

``app`` holds the commands; ``loader``, ``parameters`` and ``topologies`` turn a file and its settings into a topology;
``session`` runs it with a ``view`` on it, ``signals`` and ``logs``; ``problem`` holds what is told to the user.

May import everything of this package but ``testing``, ``sources``, ``spark`` and ``ui``.
"""

from fsshelter_py.cli.app import main

__all__ = ["main"]
