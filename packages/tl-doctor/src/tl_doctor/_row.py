"""One finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final, get_args

Status = Literal["pass", "known_broken", "scope", "not_tested"]
"""How TorchLens stands to a subject: it works, it is known to fail, it is left out on purpose, nobody has tried it."""
Severity = Literal["ok", "info", "warning", "error"]
"""How much that matters here."""

STATUSES: tuple[str, ...] = get_args(Status)
SEVERITIES: tuple[str, ...] = get_args(Severity)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the doctor has to say about one subject."""

    key: str
    """Stable name, such as `torch` or `backend_scorecard:jax`."""
    label: str
    """Name for readers."""
    status: Status
    severity: Severity
    detected: bool
    """Whether the subject is there: installed, running, or part of the model."""
    details: str
    """What was found, or what holds in general."""
    suggestion: str = ""
    """What to do; empty where there is nothing to do."""
