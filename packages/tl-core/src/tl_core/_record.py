"""What capture writes down: plain slotted records, appended once and never changed after the run.

Records refer to each other downwards only (an op to its call, a call's arguments to earlier ops), so a dropped trace
is freed at once. `index` is the position in the list of its kind in `Records`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Literal, final

OpKind = Literal["input", "buffer", "constant", "op", "output"]

Frames = tuple[tuple[CodeType, int], ...] | tuple[tuple[str, int, str], ...]
"""A call site, innermost frame first: code object and instruction offset of each user frame during capture;
file base name, line and function name on a loaded trace."""


@final
class ParamRecord:
    """One parameter tensor; tied parameters are one record with several addresses."""

    __slots__ = ("address", "aliases", "device", "dtype", "index", "reference", "requires_grad", "shape")

    def __init__(
        self, index: int, address: str, shape: tuple[int, ...], dtype: str, device: str, requires_grad: bool,
        reference: Callable[[], object] | None,
    ) -> None:
        self.index = index
        self.address = address
        self.aliases: list[str] = []
        """Further addresses of the same tensor (tied weights)."""
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.requires_grad = requires_grad
        self.reference = reference
        """Weak reference to the live parameter; None on a loaded trace."""


@final
class BufferRecord:
    """One registered buffer of a module."""

    __slots__ = ("address", "aliases", "device", "dtype", "index", "reference", "shape")

    def __init__(
        self, index: int, address: str, shape: tuple[int, ...], dtype: str, device: str,
        reference: Callable[[], object] | None,
    ) -> None:
        self.index = index
        self.address = address
        self.aliases: list[str] = []
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.reference = reference


@final
class ModuleRecord:
    """One module object of the model, whether it was called or not; a shared module has several addresses."""

    __slots__ = ("address", "aliases", "buffers", "children", "class_name", "index", "params", "training")

    def __init__(self, index: int, address: str, class_name: str, training: bool) -> None:
        self.index = index
        self.address = address
        """Dotted path from the root; the root is the empty string."""
        self.aliases: list[str] = []
        self.class_name = class_name
        self.training = training
        self.params: list[int] = []
        """Indices of the parameters that the module owns directly."""
        self.buffers: list[int] = []
        self.children: list[int] = []
        """Indices of the modules registered directly on this one."""


@final
class ModuleCallRecord:
    """One call of a module (or of one of its methods)."""

    __slots__ = ("first_op", "index", "inputs", "method", "module", "number", "outputs", "parent", "stop_op")

    def __init__(
        self, index: int, module: ModuleRecord, number: int, parent: ModuleCallRecord | None, first_op: int, method: str
    ) -> None:
        self.index = index
        self.module = module
        self.number = number
        """1-based pass of this module."""
        self.parent = parent
        self.first_op = first_op
        """Index of the first op recorded inside the call."""
        self.stop_op = first_op
        """One past the index of the last op recorded inside the call."""
        self.inputs: tuple[int, ...] = ()
        """Ops whose values entered as tensor arguments."""
        self.outputs: tuple[int, ...] = ()
        """Ops whose values the caller received."""
        self.method = method


@final
class CallRecord:
    """One call of a framework function."""

    __slots__ = (
        "args", "duration_ns", "frames", "func", "inplace", "index", "kernel", "kwargs", "meta", "module", "name",
        "params",
    )

    def __init__(
        self, index: int, name: str, kernel: str, func: Callable[..., object] | None, args: Sequence[object],
        kwargs: Mapping[str, object] | None, params: tuple[int, ...], module: ModuleCallRecord | None,
        frames: Frames, duration_ns: int, inplace: bool,
    ) -> None:
        self.index = index
        self.name = name
        """The function as people know it (`relu`, `linear`, `add_`)."""
        self.kernel = kernel
        """The function that ran, where that is another name; else the same string."""
        self.func = func
        """The callable itself, for replay; None on a loaded trace."""
        self.args = args
        """Positional arguments; each tensor is replaced by its `OpRecord`, `ParamRecord` or `AliasRead`."""
        self.kwargs = kwargs
        self.params = params
        """Indices of the parameters read."""
        self.module = module
        self.frames = frames
        self.duration_ns = duration_ns
        self.inplace = inplace
        self.meta: dict[str, object] | None = None
        """Rare facts, such as `transform_kind`."""


@final
class OpRecord:
    """One tensor: an output of a call, or a source (input, buffer, constant), or an output of the model."""

    __slots__ = (
        "address", "call", "device", "dtype", "grad_fn", "index", "kind", "module", "parents", "payload", "position",
        "requires_grad", "shape",
    )

    def __init__(
        self, index: int, kind: OpKind, call: CallRecord | None, position: int, parents: tuple[int, ...],
        shape: tuple[int, ...], dtype: object, device: object, requires_grad: bool, grad_fn: str | None,
        payload: object, address: str, module: ModuleCallRecord | None,
    ) -> None:
        self.index = index
        self.kind: OpKind = kind
        self.call = call
        """The call that produced it; None for sources and outputs."""
        self.position = position
        """Which output of the call it is, counting tensors from 0."""
        self.parents = parents
        """Indices of the ops whose values it was computed from, in argument order, each once."""
        self.shape = shape
        self.dtype = dtype
        """The framework's dtype object during capture (its `str` ends in the plain name), a plain name after loading."""
        self.device = device
        self.requires_grad = requires_grad
        self.grad_fn = grad_fn
        """Class name of the autograd node, or None."""
        self.payload = payload
        """The saved value: a framework tensor, a lazy payload, or None."""
        self.address = address
        """Where a source or output lives: `x`, `bn.running_mean`, `global:TABLE`, `[0].logits`; else empty."""
        self.module = module
        """The innermost module call in which it appeared."""


@final
class AliasRead:
    """A tensor argument whose memory was written through other tensors since it was made."""

    __slots__ = ("base", "value", "writers")

    def __init__(self, base: OpRecord | ParamRecord, writers: tuple[OpRecord, ...], value: object) -> None:
        self.base = base
        self.writers = writers
        """The ops whose writes the argument holds, oldest first."""
        self.value = value
        """Snapshot of the argument as it was read, where payloads are kept."""


@final
class Opaque:
    """An argument that is neither a tensor nor a plain value; only its type is kept."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __repr__(self) -> str:
        return f"<{self.type_name}>"


ReadKind = Literal["bool", "item", "int", "float", "complex", "index", "list", "numpy", "dlpack"]


@final
class ReadRecord:
    """A tensor value that became a Python object inside the run: `if t:`, `t.item()`, `t.tolist()`."""

    __slots__ = ("frames", "kind", "op", "op_count", "value")

    def __init__(self, kind: ReadKind, op: int, op_count: int, value: object, frames: Frames) -> None:
        self.kind: ReadKind = kind
        self.op = op
        """Index of the op that was read, or -1 when the tensor was a parameter."""
        self.op_count = op_count
        """How many ops were recorded when it happened."""
        self.value = value
        """The Python scalar, where it is one."""
        self.frames = frames


@final
class GapRecord:
    """Something that happened unseen: the honest remainder of a capture."""

    __slots__ = ("frames", "message", "op", "reason")

    def __init__(self, reason: str, message: str, op: int, frames: Frames) -> None:
        self.reason = reason
        self.message = message
        self.op = op
        """Index of the op at which it was noticed, or -1."""
        self.frames = frames


@final
class Records:
    """Everything that one run wrote down."""

    __slots__ = ("buffers", "calls", "gaps", "module_calls", "modules", "ops", "params", "reads")

    def __init__(self) -> None:
        self.ops: list[OpRecord] = []
        self.calls: list[CallRecord] = []
        self.module_calls: list[ModuleCallRecord] = []
        self.modules: list[ModuleRecord] = []
        self.params: list[ParamRecord] = []
        self.buffers: list[BufferRecord] = []
        self.reads: list[ReadRecord] = []
        self.gaps: list[GapRecord] = []
