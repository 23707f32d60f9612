"""What a run says about itself beside the graph: advisories, numbers that left it, threads that joined in."""

from __future__ import annotations

import dis
import functools
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn

from tl_core import ScalarEscapeWarning, TorchLensWarning, warn_caller
from tl_torch._compiled import is_compiled, note_unwrapped

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from types import CodeType

    from tl_core import Frames, ReadRecord, Records, Trace
    from tl_torch._boundaries import Boundaries

ESCAPES = frozenset({"item", "bool", "int", "float", "complex", "index", "list"})
"""Reads that turn values into Python numbers."""


@final
class Advisories:
    """Rows of `trace.annotations["capture_advisories"]`: nothing is wrong, but it is good to know."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []

    def add(self, kind: str, count: int, location: str, message: str) -> None:
        """Add a row."""
        self.rows.append({"kind": kind, "count": count, "first_location": location, "message": message})

    def annotate(self, trace: Trace) -> None:
        """Hand the rows to the trace; one without any has no such annotation."""
        if self.rows:
            trace.annotations["capture_advisories"] = self.rows


# ---------------------------------------------------------------- numbers that leave the graph


def escaped_reads(records: Records, made_by_torch: Container[int]) -> list[ReadRecord]:
    """Reads that made a Python number, of values that depend on an input, where nothing explains them.

    Not among them are: a truth value that a jump consumes at once (`if t:`, `while t:`, `if bool(t):`), which is a
    conditional of the trace, and `.item()` of a truth value; a number that only an `assert` looks at; values that no input had a part in (constants,
    buffers, parameters, shapes); reads that torch's own Python makes (the batch sizes of a packed sequence).

    Args:
        records: a run.
        made_by_torch: numbers of the reads that torch made.
    """
    reads = [
        read
        for number, read in enumerate(records.reads)
        if read.kind in ESCAPES and read.op >= 0 and number not in made_by_torch
    ]
    reads = [read for read in reads if not _is_explained(read)]
    if not reads:
        return []
    reached = bytearray(len(records.ops))
    for op in records.ops:
        reached[op.index] = op.kind == "input" or any(reached[parent] for parent in op.parents)
    return [read for read in reads if reached[read.op]]


_JUMPS = ("POP_JUMP", "JUMP_IF", "TO_BOOL", "UNARY_NOT")
"""Instructions that ask for a truth value, or use one, to decide what runs next."""


_SIMPLE = ("LOAD_", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_", "BINARY_", "COPY", "SWAP", "TO_BOOL", "NOP")
"""Instructions that compute something of a number without handing it on."""


def _is_explained(read: ReadRecord) -> bool:
    """Whether the answer went straight into a jump (a truth value), or into nothing but an `assert`."""
    if not read.frames:
        return True  # no code of the user asked
    if read.kind == "item" and isinstance(read.value, bool):
        return True  # a truth value and no number
    code, offset = read.frames[0][:2]
    if isinstance(code, str):
        return True
    names = _opnames(code)
    at = offset // 2
    if read.kind == "bool" and names[at].startswith(_JUMPS):
        return True
    following = [name for name in names[at + 1 :] if name != "CACHE"]
    if read.kind == "bool":
        used = [
            name for name in following[:2] if name != "COPY"
        ]  # `a and b` keeps `a` beside the question, from 3.12 on
        if used and used[0].startswith(_JUMPS):
            return True
    while following and following[0].startswith(_SIMPLE):
        following.pop(0)
    return len(following) > 1 and following[0].startswith("POP_JUMP") and following[1] == "LOAD_ASSERTION_ERROR"


@functools.lru_cache(maxsize=256)
def _opnames(code: CodeType) -> list[str]:
    return [dis.opname[byte] for byte in code.co_code[::2]]


_shown: dict[Any, Any] = {}
"""Where Python notes which warnings were shown."""


def warn_of_escapes(records: Records, made_by_torch: Container[int], advisories: Advisories) -> None:
    """Warn, at the user's line, where Python numbers were made of values of the run."""
    escapes = escaped_reads(records, made_by_torch)
    if not escapes:
        return
    first = escapes[0]
    where = location_of(first.frames)
    kinds = ", ".join(sorted({read.kind for read in escapes}))
    times = "time" if len(escapes) == 1 else "times"
    message = (
        f"{len(escapes)} {times} a tensor became a Python number in the forward pass ({kinds}), first at {where}; what "
        "Python does with it is not in the graph. Keep it a tensor, or pass the number as an input of the model."
    )
    advisories.add("scalar_escape", len(escapes), where, message)
    if not first.frames:
        warn_caller(ScalarEscapeWarning(message, code="scalar_escape"))
        return
    code, offset = first.frames[0][:2]
    assert not isinstance(code, str)
    warnings.warn_explicit(
        ScalarEscapeWarning(message, code="scalar_escape"), ScalarEscapeWarning, code.co_filename,
        line_of(code, offset), registry=_shown,
    )  # fmt: skip


def line_of(code: CodeType, offset: Any) -> int:
    """Line of an instruction."""
    line = code.co_firstlineno
    for start, stop, number in code.co_lines():
        if start <= offset < stop and number is not None:
            line = number
    return line


def location_of(frames: Frames) -> str:
    """Base name of a file, line and function of the innermost user frame, as text."""
    if not frames:
        return "unknown"
    code = frames[0][0]
    if isinstance(code, str):
        return f"{code}:{frames[0][1]}"
    return f"{os.path.basename(code.co_filename)}:{line_of(code, frames[0][1])} in {code.co_name}"


# ---------------------------------------------------------------- boundaries


def warn_of_boundaries(boundaries: Boundaries, advisories: Advisories) -> None:
    """Say which parts of the run are one op each."""
    remedy = " Set PYTORCH_JIT=0 before the model's code is imported to see it."
    scripts = _one_op_each(boundaries.scripts, "call(s) of TorchScript functions", "them") + remedy
    if boundaries.scripts:
        advisories.add("torchscript_boundary", len(boundaries.scripts), _named(boundaries.scripts), scripts)
        warn_caller(TorchLensWarning(scripts, code="torchscript_boundary"))
    if boundaries.writers:
        names = _named(boundaries.writers)
        message = f"TorchScript functions wrote into their arguments: {names}."
        advisories.add("scripted_function_not_captured", len(boundaries.writers), names, message)
    if boundaries.operators:
        inside = "the functions that they were given"
        message = _one_op_each(boundaries.operators, "call(s) of higher-order operators", inside)
        advisories.add("higher_order_boundary", len(boundaries.operators), _named(boundaries.operators), message)
    if boundaries.transforms:
        message = _one_op_each(boundaries.transforms, "torch.func transform(s)", "them")
        advisories.add("transform_boundary", len(boundaries.transforms), _named(boundaries.transforms), message)


def _named(ran: list[str]) -> str:
    return ", ".join(dict.fromkeys(ran))


def _one_op_each(ran: list[str], kind: str, inside: str) -> str:
    return f"{len(ran)} {kind} ({_named(ran)}) are one op each; what runs inside {inside} is not in the graph."


# ---------------------------------------------------------------- attention


ATTENTION = frozenset({nn.MultiheadAttention, nn.TransformerEncoderLayer})
"""Modules with a fused path in evaluation mode."""


def fused_attention_sites(modules: Iterable[tuple[str, nn.Module]], *, grad: bool) -> list[str]:
    """Addresses of attention modules for which torch would run a fused kernel if nobody watched.

    Args:
        modules: the attention modules of the model, with their addresses.
        grad: whether autograd is on.
    """
    if not torch.backends.mha.get_fastpath_enabled():
        return []
    return [address for address, module in modules if _would_fuse(module, grad)]


def _would_fuse(module: nn.Module, grad: bool) -> bool:
    attention: Any = module.self_attn if type(module) is nn.TransformerEncoderLayer else module
    if module.training or attention.training:
        return False
    if grad and any(param.requires_grad for param in module.parameters()):
        return False
    plain = attention.in_proj_bias is not None and attention.bias_k is None and not attention.add_zero_attn
    return bool(
        attention.batch_first and plain and attention.num_heads % 2 == 0 and attention.in_proj_weight is not None
    )


# ---------------------------------------------------------------- threads


@final
class ThreadWatch:
    """Whether threads were started while a model ran."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before = threading.active_count()

    @property
    def changed(self) -> bool:
        """Whether more threads run now."""
        return threading.active_count() > self._before


# ---------------------------------------------------------------- kinds of modules


_IN_FLOATING_POINT = frozenset({"FloatFunctional", "FXFloatFunctional"})
"""Modules that stand beside torch's quantized ones and hold the place of one until a model is quantized."""


@functools.cache
def _speciality(kind: type) -> str:
    package, *_ = path = kind.__module__.split(".")
    torch_own = package == "torch" and "quantized" in path and kind.__name__ not in _IN_FLOATING_POINT
    if package == "bitsandbytes" or torch_own:
        return "quantized"
    return "compiled" if is_compiled(kind) else ""


def warn_of_kinds(classes: Iterable[type]) -> None:
    """Say that the costs of quantized modules are estimates, and once a process what a compiled module shows."""
    special = {kind: speciality for kind in classes if (speciality := _speciality(kind))}
    if not special:
        return
    if "compiled" in special.values():
        note_unwrapped()
    names = sorted({kind.__name__ for kind, speciality in special.items() if speciality == "quantized"})
    if names:
        warn_caller(
            TorchLensWarning(
                f"The model holds quantized modules ({', '.join(names)}); their work is counted as that of the plain "
                "operators, which is an estimate.",
                code="quantized_modules",
            )
        )
