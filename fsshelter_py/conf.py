"""Options: each a field of ``Conf`` with its default, its Storm key and what it may hold.

Imports: errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from fsshelter_py.errors import ConfError

__all__ = ["Conf", "merged", "option_names"]


def _option(default: Any, key: str, *, low: float | None = None, choices: tuple[str, ...] = (), doc: str) -> Any:
    return field(default=default, metadata={"key": key, "low": low, "choices": choices, "doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """The options in force for a topology or a component.

    Read one as a field (``conf.max_spout_pending``), or by field name, Storm key or a key of your own
    (``conf["topology.max.spout.pending"]``, ``conf.get("my.key")``). Keys of your own are in ``extra``.
    """

    message_timeout_secs: float = _option(
        60,
        "topology.message.timeout.secs",
        low=0.001,
        doc="A tree not settled in this many seconds is nacked, half as many later at most.",
    )
    enable_message_timeouts: bool = _option(
        True, "topology.enable.message.timeouts", doc="Whether trees are ever expired."
    )
    timeout_mode: Literal["emit", "progress"] = _option(
        "emit",
        "topology.timeout.mode",
        choices=("emit", "progress"),
        doc="Count a tree's time from its emit, or from the last progress made on it.",
    )
    max_spout_pending: int = _option(
        128, "topology.max.spout.pending", low=1, doc="Unsettled tuples a spout task may have."
    )
    executor_receive_buffer_size: int = _option(
        1024, "topology.executor.receive.buffer.size", low=1, doc="Tuples a task's ring holds."
    )
    acker_tasks: int = _option(
        1, "topology.acker.tasks", low=0, doc="Acker tasks; with 0 every tuple is acked at once."
    )
    acker_executors: int = _option(1, "topology.acker.executors", low=1, doc="Threads that serve the ackers.")
    tick_tuple_freq_secs: float | None = _option(
        None, "topology.tick.tuple.freq.secs", low=0.001, doc="Seconds between tick tuples of a bolt; none by default."
    )
    sleep_spout_wait_strategy_time_ms: float = _option(
        100,
        "topology.sleep.spout.wait.strategy.time.ms",
        low=0,
        doc="Milliseconds before a spout that had nothing is asked again.",
    )
    worker_shutdown_sleep_secs: float = _option(
        30, "supervisor.worker.shutdown.sleep.secs", low=0, doc="Seconds that a stop may drain for, at most."
    )
    debug: bool = _option(False, "topology.debug", doc="Log every tuple and check it is not changed after its emit.")
    workers: int = _option(1, "topology.workers", low=1, doc="Worker processes, the main one included.")
    spout_workers: Literal["main", "spread"] = _option(
        "main",
        "topology.spout.workers",
        choices=("main", "spread"),
        doc="Where a spout's tasks are: in the main process, where its source may be, or spread over all of them.",
    )
    placement: Literal["auto", "shared", "per-task"] = _option(
        "auto", "topology.placement", choices=("auto", "shared", "per-task"), doc="How tasks are spread over threads."
    )
    max_restarts: int = _option(5, "topology.max.restarts", low=0, doc="Restarts in a row before it fails for good.")
    restart_max_backoff_secs: float = _option(
        30, "topology.restart.max.backoff.secs", low=0, doc="The longest wait before a restart, in seconds."
    )
    restart_reset_secs: float = _option(
        60, "topology.restart.reset.secs", low=0, doc="A run healthy for this long starts the count of restarts anew."
    )
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def of(*layers: Mapping[str, Any]) -> Conf:
        """Options from mappings by field or Storm key, later ones winning. Raises ``ConfError`` with every problem."""
        problems = [problem for layer in layers for problem in Conf.problems(layer)]
        if problems:
            raise ConfError(problems)
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for layer in layers:
            for key, value in layer.items():
                name = _FIELD_OF.get(key)
                if name is None:
                    extra[key] = value
                else:
                    known[name] = _convert(name, value)
        return Conf(**known, extra=MappingProxyType(extra))

    @staticmethod
    def problems(options: Mapping[str, Any]) -> list[str]:
        """One sentence for each option that is misspelt, of the wrong type or out of range."""
        found: list[str] = []
        for key, value in options.items():
            name = _FIELD_OF.get(key)
            if name is None:
                near = difflib.get_close_matches(key, _FIELD_OF, n=1, cutoff=0.8 if "." in key else 0.6)
                if near:
                    found.append(f"unknown option {key!r}: did you mean {near[0]!r}?")
                elif key.startswith("topology."):
                    found.append(f"unknown option {key!r}: keys under 'topology.' are Storm's; name yours differently")
                continue
            try:
                _convert(name, value)
            except ValueError as error:
                found.append(f"option {key!r}: {error}")
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an option, by field name, Storm key or a key of your own."""
        name = _FIELD_OF.get(key)
        return self.extra.get(key, default) if name is None else getattr(self, name)

    def __getitem__(self, key: str) -> Any:
        name = _FIELD_OF.get(key)
        return self.extra[key] if name is None else getattr(self, name)

    def __contains__(self, key: object) -> bool:
        return key in _FIELD_OF or key in self.extra

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every option by its Storm key, then your own keys."""
        for name, spec in _SPECS.items():
            yield spec["key"], getattr(self, name)
        yield from self.extra.items()


_SPECS: dict[str, Mapping[str, Any]] = {f.name: f.metadata for f in fields(Conf) if f.metadata}
_TYPES: dict[str, type] = {
    name: bool
    if isinstance(default, bool)
    else str
    if isinstance(default, str)
    else int
    if name in ("max_spout_pending", "executor_receive_buffer_size", "workers", "max_restarts")
    or name.startswith("acker_")
    else float
    for name, default in ((f.name, f.default) for f in fields(Conf) if f.metadata)
}
_FIELD_OF: dict[str, str] = {spec["key"]: name for name, spec in _SPECS.items()} | {name: name for name in _SPECS}


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """The options of all layers, later ones winning, also where one uses a field's name and another its Storm key."""
    result: dict[str, Any] = {}
    for layer in layers:
        names = {_FIELD_OF.get(key, key) for key in layer}
        result = {key: value for key, value in result.items() if _FIELD_OF.get(key, key) not in names} | dict(layer)
    return result


def option_names() -> dict[str, tuple[str, Any, str]]:
    """Field name to Storm key, default and meaning of every option."""
    return {f.name: (f.metadata["key"], f.default, f.metadata["doc"]) for f in fields(Conf) if f.metadata}


def _convert(name: str, value: Any) -> Any:
    spec, kind = _SPECS[name], _TYPES[name]
    if value is None and name == "tick_tuple_freq_secs":
        return None
    if spec["choices"]:
        if value not in spec["choices"]:
            raise ValueError(f"expected one of {', '.join(map(repr, spec['choices']))}, got {value!r}")
        return value
    converted = _to_bool(value) if kind is bool else _to_number(value, whole=kind is int)
    low = spec["low"]
    if low is not None and converted < low:
        raise ValueError(f"expected {low} or more, got {value!r}")
    return converted


def _to_bool(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(value, bool):
        return value
    raise ValueError(f"expected true or false, got {value!r}")


def _to_number(value: Any, *, whole: bool) -> int | float:
    expected = "a whole number" if whole else "a number"
    try:
        number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or number != number or (whole and not number.is_integer()):
        raise ValueError(f"expected {expected}, got {value!r}")
    return int(number) if number.is_integer() else number
