"""Units that are zero for every input of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from tl_core._backend import backend
from tl_core._errors import ArgumentTypeError, MissingDependencyError
from tl_core._find import state_of
from tl_core._payload import location, materialize
from tl_core._replay_host import array_of
from tl_core._signature import fitting
from tl_core._trace import Trace

if TYPE_CHECKING:
    from tl_core._backend import Backend
    from tl_core._record import OpRecord

MAX_SAMPLES = 8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeadUnits:
    """The units of one op."""

    op_label: str
    func_name: str
    module: str
    total_units: int
    """Length of the axis of units; 0 where nothing was counted."""
    dead_count: int
    """Units whose values are all within the threshold."""
    dead_frac: float
    sample_dead_idx: tuple[int, ...]
    """The first few of them."""
    reason: str = ""
    """Why nothing was counted: `not_saved`, `on_disk_unexamined`, `no_such_axis`, `not_real`, `empty`."""


@final
class DeadNeurons(Sequence[DeadUnits]):
    """One row for each op that computed something, in execution order."""

    def __init__(self, rows: Sequence[DeadUnits]) -> None:
        self.rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> DeadUnits: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DeadUnits]: ...
    def __getitem__(self, index: int | slice) -> DeadUnits | Sequence[DeadUnits]:
        """A row, or some of them."""
        return self.rows[index]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def __iter__(self) -> Iterator[DeadUnits]:
        """The rows."""
        return iter(self.rows)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        try:
            from pandas import DataFrame  # noqa: PLC0415  # an extra, wanted by this method alone
        except ModuleNotFoundError:
            raise MissingDependencyError(
                "A DataFrame needs pandas, which is not installed.",
                code="missing_dependency",
                remedy="pip install pandas",
            ) from None
        return DataFrame([asdict(row) for row in self.rows])

    def __repr__(self) -> str:
        dead = sorted((row for row in self.rows if row.dead_count), key=lambda row: -row.dead_frac)
        counted = sum(not row.reason for row in self.rows)
        lines = [f"{len(dead)} of {counted} ops have dead units; {len(self.rows) - counted} were not counted"]
        lines += [f"  {row.op_label}: {row.dead_count} of {row.total_units}" for row in dead[:20]]
        return "\n".join(lines)


@fitting("tl.debug.dead_neurons")
def dead_neurons(trace: Trace, dim: int = 1, threshold: float = 0.0) -> DeadNeurons:
    """Count the units of every op whose values stay within `threshold` of zero for all inputs.

    Inputs, buffers, constants and outputs of the model are left out. Values on disk are not read for this.

    Args:
        trace: a run of any backend.
        dim: axis of the units; the last axis for networks that put channels last.
        threshold: largest absolute value of a dead unit.

    Returns:
        One row an op.

    Raises:
        ArgumentTypeError: `trace` is no trace, or `dim` no whole number.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> _ = torch.nn.init.constant_(model[0].bias, -100.0)
        >>> dead_neurons(tl.trace(model, torch.rand(4, 2)))[1].dead_count
        3
    """
    if not isinstance(trace, Trace):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ArgumentTypeError(
            f"tl.debug.dead_neurons takes a trace, and was given a {type(trace).__name__}.",
            code="trace_expected",
            remedy="tl.debug.dead_neurons(tl.trace(model, x))",
        )
    if type(dim) is not int:
        raise ArgumentTypeError(
            f"dim takes the number of an axis, and was given a {type(dim).__name__}.",
            code="axis_invalid",
            remedy="dim=1 where channels come second, dim=-1 where they come last",
        )
    state = state_of(trace)
    framework = backend(trace.backend)
    rows = [
        _row(op, state.labels.op(op.index), framework, dim, threshold)
        for op in state.records.ops
        if op.call is not None
    ]
    return DeadNeurons(rows)


def _row(op: OpRecord, label: str, framework: Backend, dim: int, threshold: float) -> DeadUnits:
    place = location(op.payload)
    reason = "not_saved" if place == "none" else "on_disk_unexamined" if place == "disk" else ""
    dead: Sequence[int] = ()
    total = 0
    if not reason and not -len(op.shape) <= dim < len(op.shape):
        reason = "no_such_axis"
    if not reason:
        values = array_of(framework.to_host(materialize(op.payload)))
        reason = "not_real" if values.dtype.kind != "f" else "empty" if not values.size else ""
        if not reason:
            total = values.shape[dim]
            largest = np.abs(np.moveaxis(values, dim, 0)).reshape(total, -1).max(axis=1)
            dead = [int(unit) for unit in np.flatnonzero(largest <= threshold)]
    return DeadUnits(
        op_label=label, func_name="" if op.call is None else op.call.name,
        module="" if op.module is None else op.module.module.address, total_units=total, dead_count=len(dead),
        dead_frac=len(dead) / total if total else 0.0, sample_dead_idx=tuple(dead[:MAX_SAMPLES]), reason=reason,
    )  # fmt: skip
