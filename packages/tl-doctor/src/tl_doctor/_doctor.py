"""The report: rows of the environment, of the backends, and of whoever contributes some."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tl_doctor._contributor import contributed_rows
from tl_doctor._environment import environment_rows
from tl_doctor._fitting import fitting
from tl_doctor._report import Report
from tl_doctor._scope import scope_rows
from tl_doctor._scorecard import scorecard_rows
from tl_doctor._torch_rows import torch_rows

if TYPE_CHECKING:
    from tl_doctor._row import Row


@fitting("tl.report.doctor")
def doctor(model: object = None, inputs: object = None) -> Report:
    """Say what is installed, whether it works, and what of a model TorchLens handles.

    Neither a framework nor a backend is imported, and the model is not run.

    Args:
        model: what `tl.trace` would be given, or None for the environment alone.
        inputs: what the model would be called with, as `tl.trace` takes it.

    Returns:
        The rows; `print(report)` shows them, `report.row(key)` gives one.

    Example:
        >>> doctor().row("python").status
        'pass'
    """
    rows: dict[str, Row] = {}
    parts = (environment_rows(), torch_rows(), scorecard_rows(), scope_rows(), contributed_rows(model, inputs))
    for row in chain.from_iterable(parts):
        rows[row.key] = row  # who has seen the model knows more than who has not
    return Report(rows=tuple(rows.values()))
