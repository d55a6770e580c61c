"""Objects as bytes, for another process of the same topology.

Pickle, with what it lacks here: classes and functions of ``__main__``, lambdas and closures travel by value (by
cloudpickle; sent back, such a class is the one it was), and an exception keeps its traceback. Packing and unpacking may
run user code. Only bytes from a process of the same topology may be unpacked.
"""

from __future__ import annotations

import io
import marshal
import pickle
from types import CodeType
from typing import Any

import cloudpickle

from fsshelter_py.post.carried_error import carry

__all__ = ["pack", "unpack"]


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, BaseException):
            return carry(obj)
        if isinstance(obj, CodeType):  # cloudpickle forgets the file, which tracebacks show the lines of
            return marshal.loads, (marshal.dumps(obj),)
        return super().reducer_override(obj)


def pack(value: Any) -> bytes:
    """The value as bytes. Raises whatever it is in the value that cannot be packed."""
    out = io.BytesIO()
    _Packer(out, protocol=5).dump(value)
    return out.getvalue()


def unpack(data: bytes) -> Any:
    """The value again."""
    return pickle.loads(data)
