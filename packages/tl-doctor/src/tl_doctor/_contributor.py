"""Rows from other packages, through the entry-point group `torchlens.doctor`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from tl_doctor._row import SEVERITIES, STATUSES, Row
from tl_doctor._scorecard import FRAMEWORKS, GROUP

CONTRIBUTORS = "torchlens.doctor"
Contributor = Callable[[object, object], Iterable["Row | Mapping[str, object]"]]
"""Takes the model and its inputs, each None where not given, and gives rows or mappings with the fields of one."""


def contributed_rows(model: object, inputs: object) -> Iterator[Row]:
    """What every contributor has to say; one that fails becomes a row that shows its error.

    A contributor that is called as a backend is called imports that backend's framework, so it is asked only where
    the framework is loaded. A model of the framework cannot be there without it.
    """
    backends = {point.name for point in entry_points(group=GROUP)}
    points = {(point.name, point.value): point for point in entry_points(group=CONTRIBUTORS)}
    for (name, _), point in sorted(points.items()):
        if name in backends and not _is_loaded(name):
            yield _waiting(name)
        else:
            yield from _asked(point, model, inputs)


def _is_loaded(framework: str) -> bool:
    return framework in sys.modules or FRAMEWORKS.get(framework) in sys.modules


def _waiting(name: str) -> Row:
    return Row(
        key=f"contributor:{name}", label=f"A model of {name}", status="not_tested", severity="ok", detected=False,
        details=f"not looked at: {name} is not loaded in this process, and no model of it was given",
        suggestion="doctor(model, inputs)",
    )  # fmt: skip


def _asked(point: EntryPoint, model: object, inputs: object) -> Iterator[Row]:
    try:
        contributor = cast("Contributor", point.load())
        for given in contributor(model, inputs):
            yield given if isinstance(given, Row) else _row(given)
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and the report shows what
        yield Row(
            key=f"contributor:{point.name}", label=f"Rows of {point.name}", status="known_broken", severity="error",
            detected=True, details=f"{point.value} failed: {type(error).__name__}: {error}",
            suggestion=f"reinstall or report {point.dist.name if point.dist else point.module}",
        )  # fmt: skip


def _row(given: Mapping[str, object]) -> Row:
    """A row from a mapping.

    Raises:
        ValueError: a field is unknown or missing, or has a value that it cannot have.
    """
    known = [field.name for field in fields(Row)]
    absent = [name for name in known if name not in given and name != "suggestion"]
    if absent or set(given) - set(known):
        raise ValueError(f"a row has the fields {', '.join(known)}; given were {', '.join(given)}")
    if given["status"] not in STATUSES or given["severity"] not in SEVERITIES:
        raise ValueError(
            f"row {given['key']!r} has status {given['status']!r} and severity {given['severity']!r}; "
            f"there are {', '.join(STATUSES)} and {', '.join(SEVERITIES)}"
        )
    return Row(**cast("dict[str, Any]", dict(given)))
