"""What capture writes down: plain slotted records, appended once and never changed after the run.

Records refer to each other downwards only (an op to its call, a call's arguments to earlier ops), so a dropped trace
is freed at once. `index` is the position in the list of its kind in `Records`.

They are structs outside the garbage collector: a run makes tens of thousands of them and no cycle among them, and
tracking them made every third trace of a loop pay for a full collection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Literal, final

from msgspec import Struct

from tl_core._source import stack_of

if TYPE_CHECKING:
    from tl_core._aten import AtenOp

OpKind = Literal["input", "buffer", "constant", "op", "output"]

Frame = tuple[CodeType, int] | tuple[str, int, str]
"""A place in the user's code: code object and instruction offset during capture; file base name, line and function name
on a loaded trace."""

Frames = tuple[tuple[CodeType, int], ...] | tuple[tuple[str, int, str], ...]
"""A call site, innermost frame first."""


AROUND_KEY = "around"
"""Key of `CallRecord.meta`: indices of ops whose values the call reads in the memory around its arguments."""
ITEMWISE_KEY = "itemwise"
"""Key of `CallRecord.meta`: True where an output depends on the items at its own place in the lists given, and no others."""
RANDOM_STATE_KEY = "random_state"
"""Key of `CallRecord.meta`: where the generators stood before the call."""
AUTOCAST_KEY = "autocast"
"""Key of `CallRecord.meta`: plain dtype of autocast by device type, where it was on."""


def place_of(frames: Frames) -> str:
    """The innermost line of a call site, as a phrase for a repr; empty where there is none."""
    return f" ({stack_of(frames[:1])[0]})" if frames else ""


@final
class ParamRecord(Struct, gc=False, eq=False):
    """One parameter tensor; tied parameters are one record with several addresses."""

    index: int
    address: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool
    reference: Callable[[], object] | None
    """Weak reference to the live parameter; None on a loaded trace."""
    aliases: tuple[str, ...] = ()
    """Further addresses of the same tensor (tied weights)."""
    value: object = None
    """Snapshot as the run first read it, where arguments were to be kept."""


@final
class BufferRecord(Struct, gc=False, eq=False):
    """One registered buffer of a module."""

    index: int
    address: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    reference: Callable[[], object] | None
    aliases: tuple[str, ...] = ()


@final
class ModuleRecord(Struct, gc=False, eq=False):
    """One module object of the model, whether it was called or not; a shared module has several addresses."""

    index: int
    address: str
    """Dotted path from the root; the root is the empty string."""
    class_name: str
    training: bool
    aliases: tuple[str, ...] = ()
    params: tuple[int, ...] = ()
    """Indices of the parameters that the module owns directly."""
    buffers: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    """Indices of the modules registered directly on this one."""


@final
class ModuleCallRecord(Struct, gc=False, eq=False):
    """One call of a module (or of one of its methods)."""

    index: int
    module: ModuleRecord
    number: int
    """1-based pass of this module."""
    parent: ModuleCallRecord | None
    first_op: int
    """Index of the first op recorded inside the call."""
    method: str
    stop_op: int = 0
    """One past the index of the last op recorded inside the call."""
    inputs: tuple[int, ...] = ()
    """Ops whose values entered as tensor arguments."""
    outputs: tuple[int, ...] = ()
    """Ops whose values the caller received."""
    site: Frames | None = None
    """Where the module was called; the frames of calls inside end with it. None where that is not known."""

    def __repr__(self) -> str:
        return f"<call {self.number} of module {self.module.address!r}>"


@final
class CallRecord(Struct, gc=False, eq=False):
    """One call of a framework function."""

    index: int
    name: str
    """The function as people know it (`relu`, `linear`, `add_`)."""
    kernel: str
    """The function that ran, where that is another name; else the same string."""
    func: Callable[..., object] | None
    """The callable itself, for replay; None on a loaded trace."""
    args: Sequence[object]
    """Positional arguments; each tensor is replaced by its `OpRecord`, `ParamRecord` or `AliasRead`."""
    kwargs: Mapping[str, object] | None
    params: tuple[int, ...]
    """Indices of the parameters read."""
    module: ModuleCallRecord | None
    frames: Frames
    duration_ns: int
    inplace: bool
    meta: dict[str, object] | None = None
    """Rare facts, such as `transform_kind`; some stand under the keys below."""

    def __repr__(self) -> str:
        return f"<call {self.index}: {self.name}>"


@final
class OpRecord(Struct, gc=False, eq=False):
    """One tensor: an output of a call, or a source (input, buffer, constant), or an output of the model."""

    index: int
    kind: OpKind
    call: CallRecord | None
    """The call that produced it; None for sources and outputs."""
    position: int
    """Which output of the call it is, counting tensors from 0."""
    parents: tuple[int, ...]
    """Indices of the ops whose values it was computed from, in argument order, each once."""
    shape: tuple[int, ...]
    dtype: object
    """The framework's dtype object during capture (its `str` ends in the plain name), a plain name after loading."""
    device: object
    requires_grad: bool
    grad_fn: str | None
    """Class name of the autograd node where the kept value does not lead to it, or None; `node_name` asks the value."""
    payload: object
    """The saved value: a framework tensor, a lazy payload, or None."""
    address: str
    """Where a source or output lives: `x`, `bn.running_mean`, `global:TABLE`, `[0].logits`; else empty."""
    module: ModuleCallRecord | None
    """The innermost module call in which it appeared."""
    own_params: tuple[int, ...] = ()
    """Indices of the parameters that an output of the model is or shows; those of a computed op stand on its call."""

    @property
    def params(self) -> tuple[int, ...]:
        """Indices of the parameters that it reads."""
        return self.own_params if self.call is None else self.call.params

    def __repr__(self) -> str:
        what = self.address if self.call is None else self.call.name
        return f"<{self.kind} {self.index}: {what} {self.shape}>"


@final
class AliasRead(Struct, gc=False, eq=False):
    """A tensor argument whose memory was written through other tensors since it was made."""

    base: OpRecord | ParamRecord
    writers: tuple[OpRecord, ...]
    """The ops whose writes the argument holds, oldest first."""
    value: object
    """Snapshot of the argument as it was read, where payloads are kept."""


@final
class Opaque(Struct, gc=False, eq=False):
    """An argument that is neither a tensor nor a plain value; only its type is kept."""

    type_name: str

    def __repr__(self) -> str:
        return f"<{self.type_name}>"


@final
class GeneratorRead(Struct, gc=False, eq=False):
    """A random generator among the arguments, as it stood before the call."""

    device: str
    state: bytes

    def __repr__(self) -> str:
        return f"<generator on {self.device}>"


ReadKind = Literal["bool", "item", "int", "float", "complex", "index", "list", "numpy", "dlpack"]


@final
class ReadRecord(Struct, gc=False, eq=False):
    """A tensor value that became a Python object inside the run: `if t:`, `t.item()`, `t.tolist()`."""

    kind: ReadKind
    op: int
    """Index of the op that was read, or -1 when the tensor was a parameter."""
    op_count: int
    """How many ops were recorded when it happened."""
    value: object
    """The Python scalar, where it is one."""
    frames: Frames

    def __repr__(self) -> str:
        value = "" if self.value is None else f" {self.value!r}"
        return f"<read of op {self.op} as {self.kind}{value}{place_of(self.frames)}>"


@final
class GapRecord(Struct, gc=False, eq=False):
    """Something that happened unseen: the honest remainder of a capture."""

    reason: str
    message: str
    op: int
    """Index of the op at which it was noticed, or -1."""
    frames: Frames

    def __repr__(self) -> str:
        at = f" at op {self.op}" if self.op >= 0 else ""
        return f"<gap {self.reason}{at}{place_of(self.frames)}: {self.message}>"


@final
class Records:
    """Everything that one run wrote down."""

    __slots__ = (
        "aten", "autocast_noted", "buffers", "calls", "gaps", "module_calls", "modules", "ops", "params",
        "random_noted", "reads", "unaccounted", "witnessed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.ops: list[OpRecord] = []
        self.calls: list[CallRecord] = []
        self.module_calls: list[ModuleCallRecord] = []
        self.modules: list[ModuleRecord] = []
        self.params: list[ParamRecord] = []
        self.buffers: list[BufferRecord] = []
        self.reads: list[ReadRecord] = []
        self.gaps: list[GapRecord] = []
        self.aten: list[AtenOp] | None = None
        """Operators below the recorded functions, where they were asked for."""
        self.witnessed = False
        """Whether a census found an owner for everything that was dispatched."""
        self.random_noted = False
        """Whether each call that drew random numbers carries the state before it, and no other call drew any."""
        self.autocast_noted = False
        """Whether each call that ran under autocast says so, and no other call did."""
        self.unaccounted = 0
        """Dispatched operators for which a census found no owner."""
