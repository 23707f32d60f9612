"""The finished run: the user's handle on everything that was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, final

from tl_core._accessor import BufferAccessor, LayerAccessor, ModuleAccessor, OpAccessor, ParamAccessor
from tl_core._bundle_save import save
from tl_core._extension import extension
from tl_core._find import find
from tl_core._graph import Graph
from tl_core._lookup import look_up
from tl_core._options import CaptureOptions
from tl_core._orphan import drop_orphans
from tl_core._state import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from pathlib import Path
    from typing import SupportsIndex

    from tl_core._cost import TraceCost
    from tl_core._layer import Layer
    from tl_core._module import Module, ModuleCall
    from tl_core._op import Op
    from tl_core._record import GapRecord, ReadRecord, Records
    from tl_core._selector import Selector


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
    """Everything that one run of a model computed, operation by operation.

    `trace[key]` takes a label (`relu_1_2`: a `Layer`), a label with its pass (`relu_1_2:1`: an `Op`), a position (an
    `Op`), the address of a module (a `Module`) or of one of its calls (`layer1.0:2`: a `ModuleCall`).
    """

    __slots__ = ("__weakref__", "_info", "_records", "_state")

    def __init__(self, records: Records, info: TraceInfo) -> None:
        if info.outcome == "complete" and not info.loaded and not info.options.keep_orphans:
            drop_orphans(records)
        self._records = records
        self._info = info
        self._state = State(records, info)

    # the run

    @property
    def name(self) -> str:
        """Label of the trace, such as `resnet_1`."""
        return self._info.name

    @property
    def backend(self) -> str:
        """Name of the backend that recorded it."""
        return self._info.backend

    @property
    def model_class_name(self) -> str:
        """Class of the traced model."""
        return self._info.model_class_name

    @property
    def options(self) -> CaptureOptions:
        """How the run was recorded."""
        return self._info.options

    @property
    def outcome(self) -> Literal["complete", "failed", "stopped"]:
        """How the run ended: `failed` where the model raised, `stopped` where it was ended early on purpose."""
        return self._info.outcome

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
        return tuple([self._state.op(op.index) for op in self._records.ops if op.kind == kind])

    @property
    def graph(self) -> Graph:
        """Questions about paths."""
        return Graph(self._state)

    @property
    def reads(self) -> tuple[ReadRecord, ...]:
        """Every time that a tensor's value became a Python object inside the run."""
        return tuple(self._records.reads)

    @property
    def gaps(self) -> tuple[GapRecord, ...]:
        """Everything that is known to have happened unseen."""
        return tuple(self._records.gaps)

    def __getitem__(self, key: str | SupportsIndex) -> Op | Layer | Module | ModuleCall:
        """What `key` names.

        Raises:
            LookupFailedError: nothing has that name.
            AmbiguousOpLookupError: it is both a label and the address of a module.
            ArgumentTypeError: it is neither a text nor a whole number.
        """
        return look_up(self._state, key)

    def __len__(self) -> int:
        """Number of ops."""
        return len(self._records.ops)

    def __iter__(self) -> Iterator[Op]:
        """The ops in execution order."""
        return iter(self.ops)

    def find(self, selector: Selector) -> tuple[Op, ...]:
        """The ops that a selector means, in execution order; an empty tuple when there are none.

        Args:
            selector: such as `func("relu") & in_module("layer1")`.
        """
        return find(self, selector)

    # how far it can be trusted

    @property
    def capture_verified(self) -> bool:
        """Whether everything that the run computed is known to be in the trace."""
        return not self._records.gaps

    @property
    def capture_verification_reason(self) -> str:
        """The evidence: `provenance_complete`, or why `capture_verified` is False."""
        gaps = self._records.gaps
        return gaps[0].reason if gaps else "provenance_complete"

    @property
    def cost(self) -> TraceCost:
        """Work, memory and time of the run."""
        return self._state.cost

    def save(self, path: str | PathLike[str], level: str = "portable", overwrite: bool = False) -> Path:
        """Write the trace to a bundle, a directory that `load` reads back with the same labels.

        Args:
            path: the bundle, by custom `*.tlspec`; its parent directory exists.
            level: `"portable"` with the saved values, `"audit"` without.
            overwrite: replace a bundle that is there; a crash or a full disk leaves the old one as it was.

        Returns:
            The path.

        Raises:
            ArtifactError: the bundle cannot be written there, or holds what no bundle can hold.

        Example:
            >>> import tempfile, torch
            >>> import tl_torch as tl
            >>> run = tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4))
            >>> folder = tempfile.TemporaryDirectory()
            >>> path = run.save(f"{folder.name}/linear.tlspec")
            >>> sorted(file.name for file in path.iterdir())
            ['manifest.json', 'payloads.safetensors', 'tables.json']
            >>> folder.cleanup()
        """
        grouping, labels = self._state.grouping, self._state.labels.ops()
        groups = tuple(zip(grouping.layer_of, grouping.pass_of, strict=True))
        info = replace(self._info, groups=groups)
        return save(
            self._records, info, path, level=level, overwrite=overwrite, labels=labels, annotations=self.annotations
        )

    def draw(self, *args: object, **options: object) -> object:
        """Draw the graph; see `tl_viz.draw` for the options.

        Raises:
            MissingDependencyError: tl-viz is not installed.
        """
        return extension("tl_viz").draw(self, *args, **options)
