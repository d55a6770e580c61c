"""``python -m fsshelter_py.cli`` is ``fsshelter``."""

from fsshelter_py.cli.app import main

main()
