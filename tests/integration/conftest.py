"""Quiet logs: many of these tests fail tuples on purpose, and a traceback for each would take most of the time."""

from tests.quiet import quiet

__all__ = ["quiet"]
