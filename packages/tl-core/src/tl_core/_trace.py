"""The finished run: the user's handle on everything that was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Never, cast, final

from tl_core._absent import absent
from tl_core._accessor import BufferAccessor, LayerAccessor, ModuleAccessor, OpAccessor, ParamAccessor
from tl_core._aten import aten_rows
from tl_core._autograd import TraceAutograd
from tl_core._bundle_save import check_request, save
from tl_core._conditional import Conditional, conditionals, portable
from tl_core._errors import AmbiguousOpLookupError, ArgumentTypeError, LookupFailedError
from tl_core._extension import extension
from tl_core._find import find
from tl_core._graph import Graph
from tl_core._health_nan import FindNanResult, find_nan
from tl_core._html import to_html
from tl_core._layer import Layer
from tl_core._lookup import look_up
from tl_core._module import Module, ModuleCall
from tl_core._op import Op
from tl_core._options import CaptureOptions
from tl_core._orphan import drop_orphans
from tl_core._overview import overview
from tl_core._provenance import Provenance
from tl_core._signature import fitting
from tl_core._state import State
from tl_core._summary import Summary, SummaryOptions, summarize
from tl_core._table import op_frame
from tl_core._validate import validate_trace, validation_status
from tl_core._validate_finding import GroundTruth
from tl_core._view import View

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import SupportsIndex

    import pandas as pd

    from tl_core._aten import AtenOp
    from tl_core._cost import TraceCost
    from tl_core._record import GapRecord, ReadRecord, Records
    from tl_core._selector import Selector
    from tl_core._status import ValidationStatus


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
    conditionals: tuple[Conditional, ...] | None = None
    """Tests on tensors where a bundle stored them: only live code tells what was tested; None: derive them."""
    stop_reason: str = ""
    """Why the run was ended early, or the type and the first line of what the model raised; empty where it ran to its end."""
    saved: str = ""
    """What `save=` asked for, such as `'none'` or `func('relu')`; empty where it is not known."""
    level: str = ""
    """How much the bundle holds from which it was loaded: `portable`, `audit`...; empty for a live run."""


@final
class Trace(View):
    """Everything that one run of a model computed, operation by operation.

    `trace[key]` takes a label (`relu_1_2`: a `Layer`), a label with its pass (`relu_1_2:1`: an `Op`), a position (an
    `Op`), the address of a module (a `Module`) or of one of its calls (`layer1.0:2`: a `ModuleCall`).

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> trace = tl.trace(torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU()), torch.ones(3, 4))
        >>> [layer.label for layer in trace.layers]
        ['input_1', 'linear_1_1', 'relu_1_2', 'output_1']
        >>> trace["relu_1_2"].out.shape
        torch.Size([3, 2])
        >>> trace["0"].class_name
        'Linear'
    """

    __slots__ = ("__weakref__", "_state")

    def __init__(self, records: Records, info: TraceInfo) -> None:
        if info.outcome == "complete" and not info.loaded and not info.options.keep_orphans:
            drop_orphans(records)
        self._state = State(records, info)

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            named = not name.startswith("_") and not self._state.closed and name in self
            raise absent(self, "trace", name, f"trace[{name!r}]" if named else "")

    # the run

    @property
    def name(self) -> str:
        """Label of the trace, such as `resnet_1`."""
        return self._state.info.name

    @property
    def backend(self) -> str:
        """Name of the backend that recorded it."""
        return self._state.info.backend

    @property
    def model_class_name(self) -> str:
        """Class of the traced model."""
        return self._state.info.model_class_name

    @property
    def options(self) -> CaptureOptions:
        """How the run was recorded."""
        return self._state.info.options

    @property
    def outcome(self) -> Literal["complete", "failed", "stopped"]:
        """How the run ended: `failed` where the model raised, `stopped` where it was ended early on purpose."""
        return self._state.info.outcome

    @property
    def is_stopped(self) -> bool:
        """Whether the run was ended early on purpose."""
        return self._state.info.outcome == "stopped"

    @property
    def stop_reason(self) -> str:
        """Why the run was ended early, or what the model raised; empty where it ran to its end."""
        return self._state.info.stop_reason

    @property
    def annotations(self) -> dict[str, object]:
        """Notes on the trace; empty unless somebody wrote some."""
        return self._state.annotations

    # what was recorded

    @property
    def ops(self) -> OpAccessor:
        """All ops in execution order."""
        return OpAccessor(self._state, self)

    @property
    def layers(self) -> LayerAccessor:
        """All layers in the order of their first pass."""
        return LayerAccessor(self._state, self)

    @property
    def modules(self) -> ModuleAccessor:
        """All modules of the model, containers and modules that were not called included."""
        return ModuleAccessor(self._state, self)

    @property
    def params(self) -> ParamAccessor:
        """All parameters of the model."""
        return ParamAccessor(self._state, self)

    @property
    def buffers(self) -> BufferAccessor:
        """All buffers of the model."""
        return BufferAccessor(self._state, self)

    @property
    def inputs(self) -> tuple[Op, ...]:
        """The tensors that came in, in order."""
        return self._of_kind("input")

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The tensors that the model returned, in order."""
        return self._of_kind("output")

    def _of_kind(self, kind: str) -> tuple[Op, ...]:
        return tuple([self._state.op(op.index) for op in self._state.records.ops if op.kind == kind])

    @property
    def graph(self) -> Graph:
        """Questions about paths."""
        return Graph(self._state)

    @property
    def reads(self) -> tuple[ReadRecord, ...]:
        """Every time that a tensor's value became a Python object inside the run."""
        return tuple(self._state.records.reads)

    @property
    def conditionals(self) -> tuple[Conditional, ...]:
        """Every test on a tensor (`if`, `while`, `assert`...), with its source and the arm that ran."""
        return conditionals(self._state)

    def __getitem__(self, key: str | SupportsIndex) -> Op | Layer | Module | ModuleCall:
        """What `key` names.

        Raises:
            LookupFailedError: nothing has that name.
            AmbiguousOpLookupError: it is both a label and the address of a module.
            ArgumentTypeError: it is neither a text nor a whole number.
        """
        return look_up(self._state, key)

    def __contains__(self, key: object) -> bool:
        """Whether `trace[key]` names something, or `key` is an op, layer, module or module call of this trace."""
        if isinstance(key, (Op, Layer, Module, ModuleCall)):
            return key._state is self._state  # noqa: SLF001  # another view of the same package
        try:
            look_up(self._state, cast("str", key))
        except AmbiguousOpLookupError:
            return True
        except (LookupFailedError, ArgumentTypeError):
            return False
        return True

    def __len__(self) -> int:
        """Number of ops, sources and outputs included."""
        return len(self._state.records.ops)

    def __iter__(self) -> Iterator[Op]:
        """The ops in execution order."""
        return iter(self.ops)

    @fitting("trace.find")
    def find(self, selector: Selector) -> tuple[Op, ...]:
        """The ops that a selector means, in execution order; an empty tuple when there are none.

        Args:
            selector: such as `func("relu") & in_module("layer1")`.

        Example:
            >>> import torch
            >>> import tl_torch as tl
            >>> trace = tl.trace(torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU()), torch.ones(3, 4))
            >>> [op.label for op in trace.find(tl.func("relu") | tl.in_module("0"))]
            ['linear_1_1:1', 'relu_1_2:1']
        """
        return find(self, selector)

    # how far it can be trusted

    @property
    def capture_verified(self) -> bool:
        """Whether everything that the run computed is known to be in the trace."""
        return not self._state.records.gaps

    @property
    def capture_verification_reason(self) -> str:
        """The evidence: `provenance_complete`, `dispatch_witness_verified`, or why `capture_verified` is False."""
        gaps = self._state.records.gaps
        if gaps:
            return gaps[0].reason
        return "dispatch_witness_verified" if self._state.records.witnessed else "provenance_complete"

    @property
    def gaps(self) -> tuple[GapRecord, ...]:
        """Everything that is known to have happened unseen."""
        return tuple(self._state.records.gaps)

    @property
    def escape_diagnostics(self) -> tuple[Mapping[str, object], ...]:
        """What `escape_detector="shadow"` reported: callable, file, line and stack of each piece of unseen work."""
        return tuple(cast("Sequence[Mapping[str, object]]", self._state.annotations.get("escape_diagnostics", ())))

    # operators below the recorded functions

    @property
    def has_aten_ops(self) -> bool:
        """Whether the run noted the operators that were dispatched: `CaptureOptions(aten_ops=True)`."""
        return self._state.records.aten is not None

    @property
    def aten_ops(self) -> tuple[AtenOp, ...]:
        """Every operator that was dispatched, in order.

        Raises:
            AtenOpsUnavailableError: the run did not note them.
        """
        return tuple(aten_rows(self._state.records))

    @property
    def aten_gaps(self) -> tuple[AtenOp, ...]:
        """The operators that belong to no recorded call.

        Raises:
            AtenOpsUnavailableError: the run did not note them.
        """
        return tuple([row for row in aten_rows(self._state.records) if row.owner_status == "none"])

    # checks

    @property
    def validation_replay_status(self) -> ValidationStatus:
        """What the last validation of this trace said, or whether one is possible."""
        return validation_status(self._state)

    @fitting("trace.validate_forward_pass")
    def validate_forward_pass(self, outputs: object) -> bool | ValidationStatus:
        """Run every op again from its parents' saved values, change every parent, and compare the outputs.

        Args:
            outputs: what a plain forward pass of the model returned, as it returned it; `[]` to leave it out.

        Returns:
            True or False; the status itself where not everything could be checked.

        Raises:
            ArtifactError: the trace was loaded from a bundle that does not hold what the calls need, or whose functions
                are not the framework's own; the message names the ops.
            ConfigurationError: the run is incomplete or kept no values.
            ArgumentTypeError: `outputs` holds no tensors.

        Example:
            >>> import torch
            >>> import tl_torch as tl
            >>> model, x = torch.nn.Linear(4, 2), torch.ones(3, 4)
            >>> tl.trace(model, x).validate_forward_pass(model(x))
            True
        """
        status = validate_trace(self, GroundTruth(outputs=[outputs]))
        return bool(status) if status.state in {"passed", "failed"} else status

    @fitting("trace.find_nan")
    def find_nan(self) -> FindNanResult:
        """The first op whose output holds a NaN, or else the first that made an infinity out of finite values."""
        return find_nan(self)

    # groups of rarer facts

    @property
    def cost(self) -> TraceCost:
        """Work, memory and time of the run."""
        return self._state.cost

    @property
    def autograd(self) -> TraceAutograd:
        """What autograd followed."""
        return TraceAutograd(self._state)

    @property
    def provenance(self) -> Provenance:
        """Where the trace and its model came from."""
        info = self._state.info
        return Provenance(
            backend=info.backend,
            framework_version=info.framework_version,
            param_source="native-module" if self._state.records.params else "none",
            loaded=info.loaded,
        )

    # reports

    @fitting("trace.summary")
    def summary(
        self,
        level: Literal["auto", "module", "op"] = "auto",
        view: Literal["overview", "compute"] = "overview",
        *,
        depth: int | None = None,
        columns: Sequence[str] | None = None,
        fold_repeats: bool = True,
        max_rows: int | None = None,
    ) -> Summary:
        """A table of the run, to be printed or shown in a notebook.

        Args:
            level: one row a module, one row an op, or whichever suits the model.
            view: which columns, unless `columns` names them.
            depth: how many levels of modules are opened; default is as many as fit on a screen.
            columns: names of columns.
            fold_repeats: show equal neighbours as one row.
            max_rows: rows to show.

        Returns:
            The table.

        Raises:
            ConfigurationError: a word or a number that is not known.

        Example:
            >>> import torch
            >>> import tl_torch as tl
            >>> print(tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4), name="run").summary().text().splitlines()[0])
            Linear · run
        """
        options = SummaryOptions(
            level=level, view=view, depth=depth, columns=columns, fold_repeats=fold_repeats, max_rows=max_rows
        )
        return summarize(self, options)

    @fitting("trace.to_pandas")
    def to_pandas(self, columns: Sequence[str] | str | None = None) -> pd.DataFrame:
        """One row for each op, in execution order.

        Args:
            columns: names of columns; `"all"`; default is the usual ones.

        Returns:
            The data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
            ConfigurationError: a name is not a column.

        Example:
            >>> import torch
            >>> import tl_torch as tl
            >>> tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4)).to_pandas(["label", "shape"]).shape
            (3, 2)
        """
        return op_frame(self, columns)

    def draw(self, *args: object, **options: object) -> object:
        """Draw the graph; `tl_viz.draw` says what can be asked for.

        Raises:
            MissingDependencyError: tl-viz is not installed.
        """
        return extension("tl_viz").draw(self, *args, **options)

    @fitting("trace.save")
    def save(self, path: str | os.PathLike[str], level: str = "portable", *, overwrite: bool = False) -> Path:
        """Write the trace to a directory that `tl.load` reads back.

        Args:
            path: the bundle, by custom `*.tlspec`; its parent directory exists.
            level: `"portable"` with the saved values; `"audit"` without; `"executable_with_callables"` also with the
                names of functions and, where the trace was made with `CaptureOptions(save_args=True, save_rng=True)`,
                with parameters and states of generators, so that the loaded trace can be validated.
            overwrite: replace a bundle that is there.

        Returns:
            The path of the bundle.

        Raises:
            ConfigurationError: `path` is empty or no path.
            ArtifactError: it was refused, or the disk is full; an older bundle is then as it was.

        Example:
            >>> import tempfile, torch
            >>> import tl_torch as tl
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4)).save(f"{folder}/linear.tlspec").name
            'linear.tlspec'
        """
        target = check_request(path, level, overwrite=overwrite)
        state = self._state
        grouping = state.grouping
        groups = tuple(zip(grouping.layer_of, grouping.pass_of, strict=True))
        return save(
            state.records,
            replace(state.info, groups=groups, conditionals=portable(conditionals(state))),
            target,
            level=level,
            overwrite=overwrite,
            labels=state.labels.ops(),
            annotations=state.annotations,
        )

    @fitting("trace.cleanup")
    def cleanup(self) -> None:
        """Give the memory of the trace back now, whoever still holds it or its ops; afterwards it answers nothing.

        Dropping the last reference to a trace frees it as well; this is for when that is hard to do.

        Example:
            >>> import torch
            >>> import tl_torch as tl
            >>> trace = tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4))
            >>> trace.cleanup()
            >>> trace
            <Trace: cleaned up>
        """
        self._state.close()

    def __repr__(self) -> str:
        return overview(self._state)

    def _repr_html_(self) -> str:  # pyright: ignore[reportUnusedFunction] - notebooks call it
        return to_html(self.summary().grid)
