"""Where a trace and its model came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Origin of a trace: `trace.provenance`."""

    backend: str
    """Registered name of the backend that recorded it."""
    framework_version: str
    """Version of the framework that ran the model."""
    param_source: Literal["native-module", "pytree-derived", "none"]
    """How the parameters were found."""
    loaded: bool
    """Whether the trace was read from a bundle."""
