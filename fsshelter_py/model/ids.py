"""The identifiers of a topology's parts."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["ACKER", "SYSTEM", "ComponentId", "StreamId", "TaskId"]

ComponentId: TypeAlias = str
StreamId: TypeAlias = str
TaskId: TypeAlias = int

SYSTEM: ComponentId = "__system"
ACKER: ComponentId = "__acker"
