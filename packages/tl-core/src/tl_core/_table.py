"""The ops of a trace as a table: plain columns, or a pandas data frame."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, final

from tl_core._autograd import node_name
from tl_core._calm import collector_paused
from tl_core._cost import item_bits, plain_device, plain_dtype
from tl_core._errors import (
    BackendUnsupportedError,
    ConfigurationError,
    MissingDependencyError,
)
from tl_core._facts import listed
from tl_core._find import state_of
from tl_core._near import near_misses
from tl_core._source import line_of
from tl_core._spelling import call_label

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from tl_core._distance import Distances
    from tl_core._record import Frame, Frames, ModuleCallRecord, OpRecord, Records
    from tl_core._state import State
    from tl_core._trace import Trace

ColumnValues = list[object]


def op_table(trace: Trace, columns: Sequence[str] | str | None = None) -> dict[str, ColumnValues]:
    """The ops of a trace as columns, one entry for each op in execution order; needs no other library.

    Args:
        trace: a finished trace.
        columns: names from `COLUMNS`, `"all"`, or None for the usual ones.

    Returns:
        The columns by name, in the order asked for. Work is counted at the first output of a call and 0 at its
        others, so that a column adds up; None where no formula is known.

    Raises:
        ArgumentTypeError: `columns` is neither a list of names nor `"all"`.
        ConfigurationError: a name is not a column.

    Example:
        >>> from tl_core import TraceBuilder, TraceInfo
        >>> builder = TraceBuilder()
        >>> _ = builder.source("input", "x", (2, 3), "float32", "cpu", False)
        >>> info = TraceInfo(name="f_1", backend="torch", model_class_name="f", framework_version="2", duration_ns=1)
        >>> op_table(builder.finish(info), ["label", "shape"])
        {'label': ['input_1:1'], 'shape': [(2, 3)]}
    """
    chosen, table = _chosen(columns), _Table(state_of(trace))
    with collector_paused():
        return {name: COLUMNS[name](table) for name in chosen}


def op_frame(trace: Trace, columns: Sequence[str] | str | None = None) -> pd.DataFrame:
    """The ops of a trace as a pandas data frame, one row for each op in execution order.

    Args:
        trace: a finished trace.
        columns: names from `COLUMNS`, `"all"`, or None for the usual ones.

    Returns:
        The data frame; what `op_table` says of the columns holds here.

    Raises:
        MissingDependencyError: pandas is not installed.
        ArgumentTypeError: `columns` is neither a list of names nor `"all"`.
        ConfigurationError: a name is not a column.

    Example:
        >>> from tl_core import TraceBuilder, TraceInfo
        >>> builder = TraceBuilder()
        >>> _ = builder.source("input", "x", (2, 3), "float32", "cpu", False)
        >>> info = TraceInfo(name="f_1", backend="torch", model_class_name="f", framework_version="2", duration_ns=1)
        >>> op_frame(builder.finish(info)).shape
        (1, 25)
    """
    chosen = _chosen(columns)
    try:
        import pandas as pd  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise MissingDependencyError(
            "to_pandas() needs pandas, which is not installed.",
            code="missing_dependency",
            remedy='pip install "tl-core[pandas]"; op_table(trace) gives the same columns as plain lists',
            dependency="pandas",
        ) from None
    return pd.DataFrame(op_table(trace, chosen), columns=list(chosen))


@final
class _Table:
    """What the columns are read from; shared parts are made once."""

    __slots__ = ("_costs", "_innermost", "_labels", "_layer_labels", "_singles", "records", "state")

    def __init__(self, state: State) -> None:
        self.state = state
        self.records: Records = state.records
        self._labels: list[str] | None = None
        self._layer_labels: list[str] | None = None
        self._singles: list[tuple[str]] | None = None
        self._costs: tuple[list[int | None], list[int | None]] | None = None
        self._innermost: tuple[list[Frame | None], list[int]] | None = None

    @property
    def ops(self) -> list[OpRecord]:
        """The rows."""
        return self.records.ops

    @property
    def labels(self) -> list[str]:
        """Label of each op."""
        if self._labels is None:
            self._labels = self.state.labels.ops(self.layer_labels)
        return self._labels

    @property
    def layer_labels(self) -> list[str]:
        """Label of each layer."""
        if self._layer_labels is None:
            self._layer_labels = self.state.labels.layers()
        return self._layer_labels

    @property
    def costs(self) -> tuple[list[int | None], list[int | None]]:
        """FLOPs and MACs of each op; all None where the backend is not installed."""
        if self._costs is None:
            self._costs = self._read_costs()
        return self._costs

    def _read_costs(self) -> tuple[list[int | None], list[int | None]]:
        count = len(self.ops)
        try:
            calls = self.state.cost.calls
        except (BackendUnsupportedError, MissingDependencyError):
            return [None] * count, [None] * count
        flops: list[int | None] = [0] * count
        macs: list[int | None] = [0] * count
        last = -1
        for at, op in enumerate(self.ops):
            call = op.call
            if call is not None and call.index != last:
                last = call.index
                cost = calls[last]
                flops[at] = None if cost is None else cost.flops
                macs[at] = None if cost is None else cost.macs
        return flops, macs

    @property
    def innermost(self) -> tuple[list[Frame | None], list[int]]:
        """The innermost frame of each call site, None for none, and by op which of them."""
        if self._innermost is None:
            self._innermost = self._read_innermost()
        return self._innermost

    def _read_innermost(self) -> tuple[list[Frame | None], list[int]]:
        known: dict[int, int] = {}
        found: list[Frame | None] = [None]
        places: list[int] = []
        for op in self.ops:
            call = op.call
            frames: Frames = () if call is None else call.frames
            place = known.get(id(frames))
            if place is None:
                place = known[id(frames)] = len(found) if frames else 0
                if frames:
                    found.append(frames[0])
            places.append(place)
        return found, places

    @property
    def singles(self) -> list[tuple[str]]:
        """The tuple of each op's label alone, which most ops have for parents and for children."""
        if self._singles is None:
            self._singles = [(label,) for label in self.labels]
        return self._singles


def _type(table: _Table) -> ColumnValues:
    types = table.state.labels.types()
    return [types[layer] for layer in table.state.grouping.layer_of]


def _modules(table: _Table) -> ColumnValues:
    stacks: dict[int, tuple[str, ...]] = {}

    def stack(call: ModuleCallRecord | None) -> tuple[str, ...]:
        if call is None:
            return ()
        found = stacks.get(call.index)
        if found is None:
            above = stack(call.parent)
            found = stacks[call.index] = (*above, call_label(call)) if call.module.address else above
        return found

    return [stack(op.module) for op in table.ops]


def _parents(table: _Table) -> ColumnValues:
    singles, labels = table.singles, table.labels
    rows = [op.parents for op in table.ops]
    return [singles[row[0]] if len(row) == 1 else tuple([labels[index] for index in row]) for row in rows]


def _children(table: _Table) -> ColumnValues:
    starts, targets = table.state.edges.child_rows()
    singles, labels = table.singles, table.labels
    return [
        singles[targets[left]] if right - left == 1 else tuple([labels[index] for index in targets[left:right]])
        for left, right in pairwise(starts)
    ]


def _param_names(table: _Table) -> ColumnValues:
    names = [param.address for param in table.records.params]
    singles = [(name,) for name in names]
    found: ColumnValues = []
    for op in table.ops:
        call = op.call
        params = op.own_params if call is None else call.params  # as the property says, without its call
        found.append(
            singles[params[0]] if len(params) == 1 else tuple([names[index] for index in params]) if params else ()
        )
    return found


def _layer_labels(table: _Table) -> ColumnValues:
    names = table.layer_labels
    return [names[layer] for layer in table.state.grouping.layer_of]


def _num_passes(table: _Table) -> ColumnValues:
    grouping = table.state.grouping
    sizes = grouping.sizes()
    return [sizes[layer] for layer in grouping.layer_of]


def _duration(table: _Table) -> ColumnValues:
    found: ColumnValues = []
    last = -1
    for op in table.ops:
        call = op.call
        found.append(0 if call is None or call.index == last else call.duration_ns)
        if call is not None:
            last = call.index
    return found


def _per_site(read: Callable[[Frame], object]) -> Callable[[_Table], ColumnValues]:
    """A column of what is known of the innermost frame of each call site; None where there is none."""

    def column(table: _Table) -> ColumnValues:
        frames, places = table.innermost
        known = [None if frame is None else read(frame) for frame in frames]
        return [known[place] for place in places]

    return column


def _file(frame: Frame) -> str:
    return _base_name(frame[0].co_filename) if len(frame) == 2 else frame[0]


@cache
def _base_name(path: str) -> str:
    """Name of a file without its folders; `os.path.basename` knows one separator only."""
    return path.replace("\\", "/").rpartition("/")[2]


def _line(frame: Frame) -> int:
    return line_of(frame[0], frame[1]) if len(frame) == 2 else frame[1]


def _function(frame: Frame) -> str:
    return frame[0].co_name if len(frame) == 2 else frame[2]


def _spelled(values: Sequence[object], name_of: Callable[[object], str]) -> ColumnValues:
    """Names of values, most of which are the same object as the one before."""
    last: object = values  # no value is
    name = ""
    found: ColumnValues = []
    for value in values:
        if value is not last:
            last, name = value, name_of(value)
        found.append(name)
    return found


def _sizes(table: _Table) -> ColumnValues:
    last: object = None
    item = 0
    found: ColumnValues = []
    for op in table.ops:
        dtype = op.dtype
        if dtype is not last:
            last, item = dtype, item_bits(plain_dtype(dtype))
        found.append((prod(op.shape) * item + 7) // 8)
    return found


def _hops(read: Callable[[Distances], array[int]]) -> Callable[[_Table], ColumnValues]:
    def column(table: _Table) -> ColumnValues:
        distances = table.state.distances
        if distances is None:
            return [None] * len(table.ops)
        return [hops if hops >= 0 else None for hops in read(distances)]

    return column


COLUMNS: Mapping[str, Callable[[_Table], ColumnValues]] = {
    "label": lambda table: list(table.labels),
    "layer_label": _layer_labels,
    "func_name": lambda table: [op.kind if op.call is None else op.call.name for op in table.ops],
    "type": _type,
    "kind": lambda table: [op.kind for op in table.ops],
    "module": lambda table: ["" if op.module is None else op.module.module.address for op in table.ops],
    "module_class": lambda table: ["" if op.module is None else op.module.module.class_name for op in table.ops],
    "pass_number": lambda table: list(table.state.grouping.pass_of),
    "num_passes": _num_passes,
    "shape": lambda table: [op.shape for op in table.ops],
    "dtype": lambda table: _spelled([op.dtype for op in table.ops], plain_dtype),
    "device": lambda table: _spelled([op.device for op in table.ops], plain_device),
    "size_bytes": _sizes,
    "parents": _parents,
    "children": _children,
    "params": _param_names,
    "flops": lambda table: list(table.costs[0]),
    "macs": lambda table: list(table.costs[1]),
    "duration_ns": _duration,
    "is_inplace": lambda table: [op.call is not None and op.call.inplace for op in table.ops],
    "requires_grad": lambda table: [op.requires_grad for op in table.ops],
    "saved": lambda table: [op.payload is not None for op in table.ops],
    "min_from_input": _hops(lambda distances: distances.from_input[0]),
    "source_file": _per_site(_file),
    "source_line": _per_site(_line),
    # further ones
    "index": lambda table: [op.index for op in table.ops],
    "label_short": lambda table: list(table.state.labels.ops(table.state.labels.shorts())),
    "modules": _modules,
    "address": lambda table: [op.address for op in table.ops],
    "kernel": lambda table: [None if op.call is None else op.call.kernel for op in table.ops],
    "func_call_id": lambda table: [0 if op.call is None else op.call.index + 1 for op in table.ops],
    "output_index": lambda table: [op.position for op in table.ops],
    "grad_fn": lambda table: [node_name(op, table.state.info.backend) for op in table.ops],
    "max_from_input": _hops(lambda distances: distances.from_input[1]),
    "min_to_output": _hops(lambda distances: distances.to_output[0]),
    "max_to_output": _hops(lambda distances: distances.to_output[1]),
    "source_function": _per_site(_function),
}
"""Every column, the usual ones first."""

USUAL = tuple(COLUMNS)[:25]
"""Columns of a table when none are named."""


def _chosen(columns: Sequence[str] | str | None) -> tuple[str, ...]:
    if columns is None:
        return USUAL
    if columns == "all":
        return tuple(COLUMNS)
    known = f"the columns are {', '.join(COLUMNS)}"
    columns = listed(columns, "a list of names or 'all'", "table_column_unknown", known)
    for name in columns:
        if name not in COLUMNS:
            close = near_misses(name, COLUMNS)
            raise ConfigurationError(
                f"A table of ops has no column {name!r}.",
                code="table_column_unknown",
                remedy=f"closest: {', '.join(close)}" if close else known,
                asked=name,
                columns=tuple(COLUMNS),
            )
    return columns
