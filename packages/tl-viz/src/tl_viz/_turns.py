"""Which rounds of a loop a line leaves, and which it enters, in a picture that draws every place of the model once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_core import Op


def turns_of(ops: list[Op], place: dict[str, int]) -> dict[int, dict[int, str]]:
    """Return reader -> source -> which rounds give or read the tensor, for lines between a loop and what is outside of it.

    Args:
        ops: every pass of every op that is drawn.
        place: label of a layer -> its number.
    """
    if all(op.num_passes == 1 for op in ops):
        return {}
    by_label = {op.label: op for op in ops}
    met: dict[tuple[int, int], tuple[Op, Op, set[tuple[int, int]]]] = {}
    for op in ops:
        at = place.get(op.layer_label)
        for name in op.parents:
            source = by_label.get(name)
            if at is None or source is None or source.num_passes == op.num_passes:
                continue
            start = place[source.layer_label]
            met.setdefault((start, at), (source, op, set()))[2].add((source.pass_number, op.pass_number))
    found: dict[int, dict[int, str]] = {}
    for (start, at), (source, op, pairs) in met.items():
        text = _words(pairs, source.num_passes, op.num_passes)
        if text:
            found.setdefault(at, {})[start] = text
    return found


def _words(pairs: set[tuple[int, int]], giving: int, reading: int) -> str:
    """Return what the rounds of two layers have to do with each other; one of the layers ran once, or nothing is said."""
    if giving > 1 and reading == 1:
        given = {one for one, _ in pairs}
        if len(given) == 1:
            return {giving: "last round", 1: "first round"}.get(min(given), f"round {min(given)}")
        return f"all {giving} rounds" if len(given) == giving else f"{len(given)} of {giving} rounds"
    if giving == 1 and reading > 1:
        read = {other for _, other in pairs}
        if len(read) == 1:
            return {1: "first round", reading: "last round"}.get(min(read), f"round {min(read)}")
        return "every round" if len(read) == reading else f"{len(read)} of {reading} rounds"
    return ""
