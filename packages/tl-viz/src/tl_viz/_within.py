"""In which functions of the code every op ran: the ones that the forward of its module called on the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core import Op
    from tl_viz._network import Call

MOST = 12
"""How many frames a call site keeps."""

Frame = tuple[str, str, int]
"""File, function, line."""

Within = tuple[str, ...]
"""The functions, the outermost first, each with the line that called it; last the line of the op itself."""


def within(
    ops: Sequence[Op], module_of: Sequence[int], calls: Sequence[Call], methods: Sequence[str]
) -> tuple[dict[int, Within], dict[int, Within]]:
    """Return for ops and for module calls in which functions they ran, seen from the module around them.

    Args:
        ops: the ops that are drawn.
        module_of: op -> index of its module call, or -1 for the model itself.
        calls: the module calls.
        methods: the method that each module call ran, mostly `forward`; last that of the model.
    """
    stacks = [() if op.source is None else op.source.places for op in ops]
    homes: dict[int, tuple[Frame, ...]] = {}
    """Module call -> the frame of its method, and the frames around that."""
    found: dict[int, Within] = {}
    for at, frames in enumerate(stacks):
        home = module_of[at]
        end = next((index for index, frame in enumerate(frames) if frame[1] == methods[home]), -1)
        if end >= 0:
            homes.setdefault(home, frames[end:])
        if end > 0:
            found[at] = _path(frames, end, "")
    inner: dict[int, Within] = {}
    for at, frames in enumerate(stacks):
        call = module_of[at]
        while call >= 0 and call not in inner:
            home = homes.get(calls[call].parent, ())
            end = _place(frames, home) if home else -1
            inner[call] = _path(frames, end, methods[call]) if end > 0 else ()
            call = calls[call].parent
    return found, {call: path for call, path in inner.items() if len(path) > 1}


def _place(frames: tuple[Frame, ...], home: tuple[Frame, ...]) -> int:
    """Return which of the frames is that of a module call, or -1. Its line differs from op to op, the frames around it do not."""
    for index, frame in enumerate(frames):
        cut = index + 1 == len(frames) == MOST
        if frame[:2] == home[0][:2] and (cut or frames[index + 1 : index + 2] == home[1:2]):
            return index
    return -1


def _path(frames: tuple[Frame, ...], end: int, method: str) -> Within:
    """Return the functions between a module call, whose frame is number `end`, and the op, or the call of `method`."""
    found: list[str] = []
    line = frames[end][2]
    for index in range(end - 1, -1, -1):
        name = frames[index][1]
        if name == method:
            break
        if not name.startswith("<"):
            found.append(f"{name}:{line}")
        line = frames[index][2]
    return (*found, str(line)) if found else ()
