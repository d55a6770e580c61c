"""``python -m benchmarks`` is ``make bench``."""

from benchmarks.bench import main

main()
