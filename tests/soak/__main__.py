"""Run random topologies under failures for long: ``make soak``.

SOAK_SECS: how long, an hour by default. SOAK_SEED: the first round's seed; a round that failed names its own, and with
that it comes first. Threads take turns as they please, so a failure may take some tries to come again.
Exits 1 at the first thing that must not be.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
import traceback
import warnings
from random import Random, SystemRandom
from typing import Any

from tests.soak.case import HungError, run_case
from tests.soak.faults import Killed
from tests.soak.leaks import Leaks, memory_mb
from tests.soak.tally import Tally

_REPORT_SECS = 10.0
_STUCK_SECS = 600.0


def main() -> int:
    secs = float(os.environ.get("SOAK_SECS", "3600"))
    seed = int(os.environ.get("SOAK_SEED") or SystemRandom().randrange(10**9))
    tally = Tally()
    _complain_of_everything(tally)
    print(f"soaking for {secs:g} s from SOAK_SEED={seed}", flush=True)
    began = time.monotonic()
    leaks = Leaks()
    reporter = _Reporter(tally)
    while time.monotonic() - began < secs:
        faulthandler.dump_traceback_later(_STUCK_SECS, exit=True)
        cases = _round(seed, tally, reporter)
        if left := leaks.look():
            tally.problem(f"left behind: {left}")
        if growth := leaks.growth():
            tally.problem(growth)
        if tally.problems:
            _report_failure(seed, cases, tally)
            return 1
        seed += 1
    print(_summary(tally), flush=True)
    return 0


class _Reporter:
    """Prints a line now and then."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._began = self._reported = time.monotonic()

    def report(self, seed: int) -> None:
        """Print one, if it is time to."""
        now = time.monotonic()
        if now - self._reported >= _REPORT_SECS:
            self._reported = now
            print(f"{now - self._began:6.0f} s  seed {seed}  {_line(self._tally)}", flush=True)


def _round(seed: int, tally: Tally, reporter: _Reporter) -> dict[str, str]:
    """A few topologies side by side; what they were."""
    cases: dict[str, str] = {}
    hung = threading.Event()

    def run(index: int) -> None:
        title = f"case {index}"
        part = tally.of(title)
        try:
            cases[title] = run_case(seed * 100 + index, part)
        except HungError as error:
            faulthandler.dump_traceback(all_threads=True)
            part.problem(f"hung: {error}")
            hung.set()
        except BaseException:
            part.problem(traceback.format_exc())

    indexes = range(Random(seed).choice((2, 6, 12)))
    threads = [threading.Thread(target=run, args=(index,), name=f"soak:{index}", daemon=True) for index in indexes]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) and not hung.wait(0.05):
        reporter.report(seed)
    return cases


def _complain_of_everything(tally: Tally) -> None:
    """What would only be printed, from threads, finalizers and warnings, is a problem too."""

    def of_thread(args: Any) -> None:
        if not isinstance(args.exc_value, Killed):
            tally.problem("".join(traceback.format_exception(args.exc_value)))

    def of_finalizer(args: Any) -> None:
        tally.problem(f"unraisable: {args.err_msg} {args.object!r} {args.exc_value!r}")

    def of_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        tally.problem(f"{category.__name__}: {message} ({filename}:{lineno})")

    threading.excepthook = of_thread
    sys.unraisablehook = of_finalizer
    warnings.simplefilter("always")
    warnings.showwarning = of_warning


def _report_failure(seed: int, cases: dict[str, str], tally: Tally) -> None:
    print(f"\nFAILED in the round of SOAK_SEED={seed}\n", flush=True)
    for problem in tally.problems[:20]:
        print(f"- {problem}", flush=True)
    for title, case in cases.items():
        if any(problem.startswith(f"{title}:") for problem in tally.problems):
            print(f"\n{title}: {case}", flush=True)
    print(f"\n{_summary(tally)}", flush=True)


def _line(tally: Tally) -> str:
    injected = sum(tally.injected().values())
    return (
        f"topologies {tally['topologies']}  tuples {tally['tuples']:,}  injected {injected:,}  "
        f"restarts {tally['restarts']}  stops {tally['injected stop'] + tally['injected stop by a task']}  "
        f"timeouts {tally['nacked timeout']}  lost {tally['lost']}  doubled {tally['doubled']}  {memory_mb():.0f} MB"
    )


def _summary(tally: Tally) -> str:
    kinds = "".join(f"\n    {kind}: {times:,}" for kind, times in sorted(tally.injected().items()))
    settled = ", ".join(f"{kind} {tally[f'nacked {kind}']:,}" for kind in ("failed", "timeout", "stopped", "capacity"))
    return (
        f"topologies: {tally['topologies']:,}, run {tally['runs']:,} times, of which failed for good: "
        f"{tally['failed for good']:,}\n"
        f"source tuples: {tally['tuples']:,}, deliveries: {tally['deliveries']:,}, ticks: {tally['ticks']:,}\n"
        f"acked: {tally['acked']:,}, nacked: {tally['nacked']:,} ({settled}), given up: {tally['given up']:,}\n"
        f"stuck when given up: {tally['stuck_in_user_code']:,}, spouts told late: {tally['stuck_in_handler']:,}\n"
        f"restarts: {tally['restarts']:,}, quiet moments checked: {tally['quiet moments']:,}\n"
        f"failures injected: {sum(tally.injected().values()):,}{kinds}\n"
        f"lost: {tally['lost']}, doubled: {tally['doubled']}"
    )


if __name__ == "__main__":
    sys.exit(main())
