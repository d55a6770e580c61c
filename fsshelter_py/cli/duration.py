"""Durations as people write them. A few lines, since the libraries for it take no ``ms``, or let nonsense through."""

from __future__ import annotations

import re

__all__ = ["seconds"]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PART = re.compile(rf"({_NUMBER})({'|'.join(_SECONDS)})")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds(text: str) -> float:
    """Seconds from ``30s``, ``5m``, ``1h30m``, ``250ms``, ``2d`` or a plain number. Raises ``ValueError``.

    >>> seconds("1h30m"), seconds("250ms"), seconds("2.5")
    (5400.0, 0.25, 2.5)
    """
    text = text.strip()
    if re.fullmatch(_NUMBER, text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"expected a duration such as 30s, 5m, 1h30m or 250ms, got {text!r}")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
