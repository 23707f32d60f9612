"""What a trace and its views share: the records, and what was derived from them so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, final
from weakref import ref

from tl_core._buffer import Buffer
from tl_core._cost import TraceCost
from tl_core._distance import Distances
from tl_core._edge import Edges
from tl_core._errors import PayloadUnavailableError
from tl_core._grouping import Grouping, group, one_layer_per_op, stored_groups
from tl_core._label import Labels
from tl_core._layer import Layer
from tl_core._memory import trim_heap
from tl_core._module import Module, ModuleCall
from tl_core._op import Op
from tl_core._param import Param
from tl_core._spelling import ROOT

if TYPE_CHECKING:
    from tl_core._record import Records
    from tl_core._trace import TraceInfo


@final
class State:
    """Records of a run with its derived tables, each computed once, when first asked for.

    Views and the trace hold the state; the state holds views weakly, so nothing refers in a ring.
    """

    __slots__ = (
        "__weakref__",
        "_buffers",
        "_calls",
        "_cost",
        "_distances",
        "_edges",
        "_grouping",
        "_labels",
        "_layers",
        "_module_calls",
        "_module_names",
        "_modules",
        "_ops",
        "_outputs",
        "_params",
        "annotations",
        "closed",
        "info",
        "records",
    )

    def __init__(self, records: Records, info: TraceInfo) -> None:
        self.records = records
        self.info = info
        self.closed = False
        """Whether `close` was called."""
        self.annotations: dict[str, object] = {}
        self._edges: Edges | None = None
        self._grouping: Grouping | None = None
        self._labels: Labels | None = None
        self._distances: Distances | None = None
        self._cost: TraceCost | None = None
        self._outputs: dict[int, list[int]] | None = None
        self._calls: dict[int, list[int]] | None = None
        self._module_names: dict[str, int] | None = None
        self._ops: dict[int, ref[Op]] = {}
        self._layers: dict[int, ref[Layer]] = {}
        self._modules: dict[int, ref[Module]] = {}
        self._module_calls: dict[int, ref[ModuleCall]] = {}
        self._params: dict[int, ref[Param]] = {}
        self._buffers: dict[int, ref[Buffer]] = {}

    def __getattr__(self, name: str) -> Never:
        """Only asked for what `close` took away."""
        raise PayloadUnavailableError(
            "This trace was cleaned up; it holds nothing any more.",
            code="trace_cleaned_up",
            remedy="trace the model again, and read what you need before trace.cleanup()",
            attribute=name,
        )

    def require_open(self) -> None:
        """Refuse after `close`."""
        if self.closed:
            self.__getattr__("records")

    def close(self) -> None:
        """Let go of everything, values first; a second time does nothing."""
        if self.closed:
            return
        self.closed = True
        for op in reversed(self.records.ops):  # a value goes while the one that it was made of is still held: see `Op`
            op.payload = None
        del self.records, self.info, self.annotations
        del self._edges, self._grouping, self._labels, self._distances, self._cost, self._outputs, self._calls
        trim_heap()

    # tables

    @property
    def edges(self) -> Edges:
        """Parents and children of every op."""
        if self._edges is None:
            self._edges = Edges(self.records.ops)
        return self._edges

    @property
    def grouping(self) -> Grouping:
        """Layer and pass of every op."""
        if self._grouping is None:
            self._grouping = self._group()
        return self._grouping

    def _group(self) -> Grouping:
        if self.info.groups is not None:
            return stored_groups(self.info.groups)
        if not self.info.options.recurrence_detection:
            return one_layer_per_op(len(self.records.ops))
        return group(self.records, lambda: self.edges)

    @property
    def labels(self) -> Labels:
        """Names of layers and ops."""
        if self._labels is None:
            self._labels = Labels(self.records.ops, self.grouping)
        return self._labels

    @property
    def distances(self) -> Distances | None:
        """Hops from the inputs and to the outputs; None where the capture was asked to leave them out."""
        if self._distances is None and self.info.options.compute_input_output_distances:
            self._distances = Distances(self.records.ops, self.edges)
        return self._distances

    @property
    def cost(self) -> TraceCost:
        """Work, memory and time of the run."""
        if self._cost is None:
            self._cost = TraceCost(self.records, self.info.backend, self.info.duration_ns)
        return self._cost

    def outputs_of(self, call: int) -> list[int]:
        """Ops that a function call made."""
        if self._outputs is None:
            self._outputs = {}
            for op in self.records.ops:
                if op.call is not None:
                    self._outputs.setdefault(op.call.index, []).append(op.index)
        return self._outputs.get(call, [])

    def calls_of(self, module: int) -> list[int]:
        """Calls of a module."""
        if self._calls is None:
            self._calls = {}
            for call in self.records.module_calls:
                self._calls.setdefault(call.module.index, []).append(call.index)
        return self._calls.get(module, [])

    def ops_inside(self, call: int) -> list[int]:
        """Computed ops that appeared while a module call ran."""
        record = self.records.module_calls[call]
        ops = self.records.ops
        return [index for index in range(record.first_op, record.stop_op) if ops[index].kind == "op"]

    def module_names(self) -> dict[str, int]:
        """Index of the module at each address, further addresses of shared modules included; `self` is the model."""
        if self._module_names is None:
            modules = self.records.modules
            names = {alias: module.index for module in modules for alias in module.aliases}
            names |= {module.address: module.index for module in modules}
            if "" in names:
                names.setdefault(ROOT, names[""])  # a module that is really called so keeps its name
            self._module_names = names
        return self._module_names

    def find_call(self, text: str) -> int | None:
        """Index of the module call with this label; `b:2` works for every address of a shared module."""
        address, colon, number = text.rpartition(":")
        module = self.module_names().get(address) if colon else None
        if module is None or not (number.isascii() and number.isdecimal()) or number.startswith("0"):
            return None
        calls = self.calls_of(module)
        return calls[int(number) - 1] if int(number) <= len(calls) else None

    # Views: one object for each thing as long as somebody holds it. A dead reference stays until its thing is looked at
    # again; a dictionary that clears them costs a microsecond a view.

    def op(self, index: int) -> Op:
        """View of an op."""
        known = self._ops.get(index)
        view = None if known is None else known()
        if view is None:
            view = Op(self, self.records.ops[index])
            self._ops[index] = ref(view)
        return view

    def layer(self, index: int) -> Layer:
        """View of a layer."""
        known = self._layers.get(index)
        view = None if known is None else known()
        if view is None:
            view = Layer(self, index)
            self._layers[index] = ref(view)
        return view

    def module(self, index: int) -> Module:
        """View of a module."""
        known = self._modules.get(index)
        view = None if known is None else known()
        if view is None:
            view = Module(self, self.records.modules[index])
            self._modules[index] = ref(view)
        return view

    def module_call(self, index: int) -> ModuleCall:
        """View of a module call."""
        known = self._module_calls.get(index)
        view = None if known is None else known()
        if view is None:
            view = ModuleCall(self, self.records.module_calls[index])
            self._module_calls[index] = ref(view)
        return view

    def param(self, index: int) -> Param:
        """View of a parameter."""
        known = self._params.get(index)
        view = None if known is None else known()
        if view is None:
            view = Param(self, self.records.params[index])
            self._params[index] = ref(view)
        return view

    def buffer(self, index: int) -> Buffer:
        """View of a buffer."""
        known = self._buffers.get(index)
        view = None if known is None else known()
        if view is None:
            view = Buffer(self, self.records.buffers[index])
            self._buffers[index] = ref(view)
        return view
