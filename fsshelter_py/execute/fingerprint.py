"""What a tuple holds at a moment, to tell later whether it was changed. For debug mode only: it is slow."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from typing import Any

from fsshelter_py.execute.emitter import DirectTuple
from fsshelter_py.model.printed import printed
from fsshelter_py.model.schema import fields_of

__all__ = ["Stamped", "changed_fields", "fingerprint"]

_PLAIN = frozenset({int, str, bool, bytes, type(None)})


class Stamped:
    """A tuple, or a direct tuple, as user code emitted it, with its fingerprint at that moment."""

    __slots__ = ("emitted", "fingerprint")

    def __init__(self, emitted: Any) -> None:
        self.emitted = emitted
        self.fingerprint = fingerprint(emitted.tuple if type(emitted) is DirectTuple else emitted)


def fingerprint(tuple: Any) -> Mapping[str, Any]:
    """Something for each field that differs if the field's value does; of what is no tuple class, nothing."""
    try:
        names = dict.fromkeys(name.partition(".")[0] for name in fields_of(type(tuple)))
    except TypeError:
        return {}
    return {name: _digest(getattr(tuple, name, None)) for name in names}


def changed_fields(tuple: Any, before: Mapping[str, Any]) -> list[str]:
    """The fields that are not what they were."""
    now = fingerprint(tuple)
    return [name for name, digest in before.items() if now.get(name) != digest]


def _digest(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    try:
        return hashlib.blake2b(pickle.dumps(value, 5), digest_size=16).digest()
    except Exception:  # a lock, a lambda, a socket: what it prints is the best there is
        return printed(value)
