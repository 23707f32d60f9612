"""Work of a recorded torch call, from shapes alone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tl_torch._call_shapes import CallShapes
from tl_torch._flops_table import FORMULAS, FREE, Formula

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core import CallRecord, OpCost, OpRecord

PREFIXES = ("_", "special_", "linalg_", "fft_", "mkldnn_")
"""What may stand before the name of an operator that is in the table without it."""

OPERATORS = {"radd": "add", "rmul": "mul", "rtruediv": "div", "rfloordiv": "floor_divide", "rmod": "mod", "rpow": "pow",
             "rdiv": "div", "rand": "and", "ror": "or", "rxor": "xor", "rlshift": "lshift", "rrshift": "rshift",
             "iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "div", "idiv": "div", "ifloordiv": "floor_divide",
             "imod": "mod", "iand": "and", "ior": "or", "ixor": "xor", "ilshift": "lshift", "irshift": "rshift",
             "ipow": "pow"}  # fmt: skip
"""Reflected and in-place spellings of operators, by the table's name."""


def cost(call: CallRecord, outputs: Sequence[OpRecord]) -> OpCost | None:
    """Return the work of `call`, or None where its operator or this use of it has no formula.

    Args:
        call: the recorded call, its tensors replaced by records.
        outputs: its output tensors; none where all of them were left out of the trace, which then costs nothing.

    Example:
        >>> from tl_core import CallRecord, OpRecord
        >>> x = OpRecord(0, "input", None, 0, (), (2, 3), "float32", "cpu", False, None, None, "x", None)
        >>> call = CallRecord(0, "relu", "relu", None, (x,), None, (), None, (), 0, False)
        >>> y = OpRecord(1, "op", call, 0, (0,), (2, 3), "float32", "cpu", False, None, None, "", None)
        >>> cost(call, [y])
        OpCost(flops=6, macs=0)
    """
    if not outputs:
        return FREE
    found = _formula(getattr(call.func, "__module__", None), call.kernel, call.name)
    if found is None:
        return None
    try:
        return found(CallShapes(call, outputs))
    except LookupError:  # the arguments are not what the formula reads: unknown, not guessed
        return None


@cache
def _formula(module: object, kernel: str, name: str) -> Formula | None:
    """The formula of an operator by the module of its function, by what ran, and by its name."""
    if not _is_torch(str(module or "torch")):
        return None
    found = _find(kernel)
    if found is None and "::" not in kernel:  # an operator of another namespace may share the name of one
        found = _find(name)
    return found


def _is_torch(module: str) -> bool:
    """Whether a function of that module is torch's own: a custom operator may share the name of one."""
    if module.startswith("torch._ops."):
        return module.endswith((".aten", ".prims"))
    return module.partition(".")[0] == "torch"


def _find(name: str) -> Formula | None:
    """Look an operator up: as it is written, then without the marks of its namespace, overload and in-place form."""
    if name in FORMULAS:
        return FORMULAS[name]
    namespace, _, bare = name.rpartition("::")
    if namespace not in {"", "aten", "prims"}:
        return None
    if bare.startswith("__") and bare.endswith("__"):
        bare = bare[2:-2]
        bare = OPERATORS.get(bare, bare)
    elif "." in bare:  # `aten.add.Tensor`, `add.Tensor`
        bare = bare.removeprefix("aten.").partition(".")[0]
    if bare not in FORMULAS:
        bare = bare.removesuffix("_")
    for prefix in PREFIXES:
        if bare not in FORMULAS:
            bare = bare.removeprefix(prefix)
    return FORMULAS.get(bare)
