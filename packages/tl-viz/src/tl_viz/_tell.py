"""What the arguments of a call tell about it: which part it takes, and which output it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tl_core import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMED = dict.fromkeys(
    ("topk", "sort", "max", "min", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"), ("values", "indices")
) | {
    "aminmax": ("min", "max"),
    "lstm": ("states", "last state", "last cell"),
    "gru": ("states", "last state"),
    "rnn_tanh": ("states", "last state"),
    "rnn_relu": ("states", "last state"),
}
"""Functions whose outputs have names."""

LONGEST = 24
"""A longer index is not written."""


def indices_of(op: Op, again: Op | None = None) -> str:
    """Return which part an op takes of its input, such as `[:, -1]`; an empty string where that is not plain.

    Args:
        op: any op.
        again: the same op in the second round of a loop; numbers that differ in it are written as `t`.
    """
    if op.func_name != "__getitem__" and op.func_name != "getitem":
        return ""
    one = _index(op)
    other = _index(again) if again is not None else one
    if one is None or other is None or len(one) != len(other):
        return ""
    text = "[" + ", ".join([a if a == b else "t" for a, b in zip(one, other, strict=True)]) + "]"
    return text if len(text) <= LONGEST else ""


def _index(op: Op) -> list[str] | None:
    call = op.call
    if call is None or len(call.args) != 2:
        return None
    given = call.args[1]
    parts = list(cast("Sequence[object]", given)) if isinstance(given, tuple) else [given]
    texts = [_part(part) for part in parts]
    found = [text for text in texts if text]
    return found if len(found) == len(texts) else None


def _part(part: object) -> str:
    """Return one part of an index as Python writes it, `tensor` for one; an empty string where it is anything else."""
    if part is Ellipsis:
        return "..."
    if isinstance(part, Op):
        return "tensor"
    if isinstance(part, slice):
        start, stop, step = cast("tuple[object, object, object]", (part.start, part.stop, part.step))
        ends = [start, stop] if step is None else [start, stop, step]
        if any(end is not None and not isinstance(end, int) for end in ends):
            return ""
        return ":".join(["" if end is None else str(end) for end in ends])
    return str(part) if part is None or isinstance(part, int) else ""


def outputs_of(every: list[Op]) -> dict[str, str]:
    """Return label of an op -> which output of its call it is, for calls with several outputs."""
    by_call: dict[tuple[int, int], list[Op]] = {}
    for op in every:
        if op.func_call_id:
            by_call.setdefault((op.func_call_id, op.pass_number), []).append(op)
    found: dict[str, str] = {}
    for ops in by_call.values():
        for op in ops if len(ops) > 1 else ():
            words = NAMED.get(op.func_name, ())
            named = len(words) == len(ops) and op.output_index < len(words)
            found[op.label] = words[op.output_index] if named else f"{op.output_index + 1}/{len(ops)}"
    return found
