"""What the arguments of a call tell about its size: the kernel of a convolution, layers and steps of a recurrent network."""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, cast

from tl_core import Op, Param
from tl_viz._names import amount, count

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_core import Trace

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""Functions that run a recurrent network over a sequence -> rows of its weights for each hidden value."""


def detail_of(trace: Trace, op: Op) -> str:
    """Return what the arguments of an op say about its size, such as `3×3, stride 2`; an empty string where that is not plain."""
    tell = TELL.get(op.func_name)
    return tell(trace, op) if tell is not None else ""


def _argument(op: Op, at: int, name: str, default: object) -> object:
    call = op.call
    if call is None:
        return default
    return call.args[at] if at < len(call.args) else call.kwargs.get(name, default)


def _shape(value: object) -> tuple[int, ...]:
    nothing: tuple[int, ...] = ()
    found = value.shape if isinstance(value, (Op, Param)) else None
    return nothing if found is None else found


def _convolution(groups_at: int, dilation_at: int, *, transposed: bool) -> Callable[[Trace, Op], str]:
    def tell(_trace: Trace, op: Op) -> str:
        weight = _shape(_argument(op, 1, "weight", None))
        kernel = weight[2:]
        if not kernel:
            return ""
        sizes = [str(size) for size in kernel]
        parts = ["×".join(sizes) if len(sizes) > 1 else f"kernel {sizes[0]}"]
        for name, value in (
            ("stride", _argument(op, 3, "stride", 1)),
            ("dilation", _argument(op, dilation_at, "dilation", 1)),
        ):
            parts += [f"{name} {text}"] if (text := _step(value)) else []
        groups = _argument(op, groups_at, "groups", 1)
        if isinstance(groups, int) and groups > 1:
            parts.append("depthwise" if groups == weight[0] and (transposed or weight[1] == 1) else f"{groups} groups")
        return ", ".join(parts)

    return tell


def _step(value: object) -> str:
    """Return a stride or dilation as people write it; an empty string where it is 1."""
    steps = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else [value]
    if any(not isinstance(step, int) for step in steps) or set(steps) == {1}:
        return ""
    return "×".join([str(step) for step in (steps[:1] if len(set(steps)) == 1 else steps)])


def _best(_trace: Trace, op: Op) -> str:
    """How many of how many `topk` takes."""
    shape, number, dim = (
        _shape(_argument(op, 0, "input", None)),
        _argument(op, 1, "k", None),
        _argument(op, 2, "dim", -1),
    )
    if not shape or not isinstance(number, int) or not isinstance(dim, int):
        return ""
    return f"top {number} of {shape[dim]}"


def _groups(_trace: Trace, op: Op) -> str:
    """How many matrices one call multiplies, each by rows of its own."""
    weights = _shape(_argument(op, 1, "mat2", None))
    return f"{weights[0]} groups" if len(weights) == 3 else ""


def _recurrence(trace: Trace, op: Op) -> str:
    """Layers with their parameters, size of the state and length of the sequence: `2 layers, 64 hidden, 20 steps`."""
    weights = [address for address in op.params if ".weight_hh_l" in f".{address}"]
    if not weights:
        return ""
    backward = any(address.endswith("_reverse") for address in weights)
    layers = len(weights) // (2 if backward else 1)
    each = _by_layer(trace, op.params, layers) if layers > 1 else ""
    parts = [
        count(layers, "layer") + each,
        *(["both directions"] if backward else []),
        f"{trace.params[weights[0]].shape[0] // GATES[op.func_name]} hidden",
    ]
    steps = _steps(op)
    return ", ".join([*parts, count(steps, "step")] if steps else parts)


def _by_layer(trace: Trace, addresses: tuple[str, ...], layers: int) -> str:
    """Return the parameters of each layer, equal neighbours once: ` (25.1k, 33.3k ×2 params)`."""
    sums = [0] * layers
    for address in addresses:
        number = address.rpartition("_l")[2].removesuffix("_reverse")
        if not number.isdigit() or int(number) >= layers:
            return ""
        sums[int(number)] += prod(trace.params[address].shape)
    texts = [(size, len(list(same))) for size, same in groupby(sums)]
    return " (" + ", ".join([amount(size) + (f" ×{times}" if times > 1 else "") for size, times in texts]) + " params)"


def _steps(op: Op) -> int:
    """Return the length of the sequence, or 0 where it is packed and has none."""
    args = op.call.args if op.call is not None else ()
    shape = _shape(args[0]) if args else ()
    if len(args) != 9 or not isinstance(args[-1], bool) or len(shape) != 3 or not prod(shape):
        return 0
    return shape[1 if args[-1] else 0]


TELL: dict[str, Callable[[Trace, Op], str]] = {
    **{f"conv{rank}d": _convolution(6, 5, transposed=False) for rank in (1, 2, 3)},
    **{f"conv_transpose{rank}d": _convolution(6, 7, transposed=True) for rank in (1, 2, 3)},
    **dict.fromkeys(GATES, _recurrence),
    **dict.fromkeys(("_grouped_mm", "grouped_mm"), _groups),
    "topk": _best,
}
"""Functions whose arguments tell about their size."""
