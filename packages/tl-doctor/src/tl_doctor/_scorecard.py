"""One row for each registered backend, from the record of its conformance run that its distribution ships."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, cast

from tl_doctor._requirement import installed_version
from tl_doctor._row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

GROUP = "torchlens.backends"
FRAMEWORKS = {"tf": "tensorflow", "paddle": "paddlepaddle"}
"""Distributions of frameworks whose backends have another name."""

Record = dict[str, object]


def scorecard_rows() -> Iterator[Row]:
    """A row for each registered backend; no backend and no framework is imported."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    for name in sorted(points):
        yield _row(name, points[name])


def _row(name: str, point: EntryPoint) -> Row:
    key, label = f"backend_scorecard:{name}", f"Backend {name}"
    try:
        record = _record(name, point)
        if record is not None:
            return _recorded(name, record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        return Row(
            key=key, label=label, status="known_broken", severity="warning", detected=True,
            details=f"its scorecard cannot be read: {type(error).__name__}: {error}",
            suggestion=f"reinstall {_distribution(point)}",
        )  # fmt: skip
    installed = installed_version(FRAMEWORKS.get(name, name)) or "absent"
    return Row(
        key=key, label=label, status="not_tested", severity="ok", detected=installed != "absent",
        details=(
            f"{name} {installed}; {_distribution(point)} ships no record of a run of the tests that every backend has to pass"
        ),
    )  # fmt: skip


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0].replace("_", "-")


def _record(name: str, point: EntryPoint) -> Record | None:
    """The shipped record, or None. The package is located and not executed: it would import its framework."""
    spec = find_spec(point.module.partition(".")[0])
    if spec is None:
        return None
    root = files(module_from_spec(spec))
    for parts in (("backends", name), (name,), ()):
        place = root.joinpath(*parts, "scorecard.json")
        if place.is_file():
            read = cast("Record", json.loads(place.read_text(encoding="utf-8")))
            if read["backend"] == name:
                return read
    return None


def _recorded(name: str, record: Record) -> Row:
    counts = cast("Mapping[str, int]", record["counts"])
    low, ceiling = cast("tuple[str, str]", record["supported"])
    installed = installed_version(str(record["framework"]))
    row = Row(
        key=f"backend_scorecard:{name}", label=f"Backend {name}", status="not_tested", severity="info",
        detected=installed is not None,
        details=(
            f"{record['maturity']}; {counts['passed']}/{counts['denominator']} cells passed, "
            f"{counts['unsupported']} unsupported, {counts['failed']} failed; pinned {record['pinned_version']}, "
            f"installed {installed or 'absent'}, supported [{low}, {ceiling})"
        ),
    )  # fmt: skip
    return _judged(row, name, record, counts)


def _judged(row: Row, name: str, record: Record, counts: Mapping[str, int]) -> Row:
    if not row.detected:
        return replace(row, status="scope", severity="ok", suggestion=f"pip install 'torchlens[{name}]'")
    if counts["failed"]:
        cells = cast("list[Mapping[str, object]]", record["cells"])
        failed = [cell for cell in cells if cell["status"] == "failed"]
        said = f"first failed cell: {failed[0]['case']}" if failed else "its failed cells are not named"
        return replace(row, status="known_broken", severity="warning", suggestion=said)
    if record["tier"] == "durable":
        return replace(row, status="pass", severity="ok")
    return replace(row, status="not_tested", severity="info", suggestion=f"tier {record['tier']}, not yet durable")
