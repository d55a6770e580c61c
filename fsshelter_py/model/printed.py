"""Printing what is the user's: it may fail, and must not take anything down with it."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["printed"]


def printed(value: object, how: Callable[[object], str] = repr) -> str:
    """``how(value)``, or a stand-in that names the class where that raises."""
    try:
        return how(value)
    except Exception as error:
        return f"<{type(value).__name__} whose {how.__name__} raises {type(error).__name__}>"
