"""Hosting a topology: restarts when it fails, ends when its input has ended, stops when told to.

May import: errors, clock, conf, model, build, declare, execute. The restart policy is pure.
"""

from fsshelter_py.host.hosted import Hosted, run, run_no_restart, run_with

__all__ = ["Hosted", "run", "run_no_restart", "run_with"]
