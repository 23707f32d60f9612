"""The finished run: the user's handle on everything that was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from tl_core._options import CaptureOptions
from tl_core._record import Records


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TraceInfo:
    """Facts about the run as a whole."""

    name: str
    """Label of the trace, such as `resnet_1`."""
    backend: str
    """Registered name of the backend that recorded it."""
    model_class_name: str
    framework_version: str
    duration_ns: int
    """Wall time of the recorded forward pass, recording included."""
    outcome: Literal["complete", "failed", "stopped"] = "complete"
    options: CaptureOptions = field(default_factory=CaptureOptions)
    grad_enabled: bool = True
    output: object = None
    """The model's return value with each tensor replaced by its `OpRecord`."""
    loaded: bool = False
    """Whether the trace came from a bundle."""
    groups: tuple[tuple[int, int], ...] | None = None
    """Layer index and 1-based pass of each op where a bundle stored them; None: derive them."""


@final
class Trace:
    """Everything that one run of a model computed, operation by operation."""

    __slots__ = ("_info", "_records", "__weakref__")

    def __init__(self, records: Records, info: TraceInfo) -> None:
        self._records = records
        self._info = info
