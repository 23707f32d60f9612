"""A recorder that makes one mistake on purpose, while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from tl_core import AliasRead, OpRecord, leaves_of
from tl_torch._capture import Recorder

Apply = Callable[[OpRecord, torch.Tensor], bool]
"""Spoils the record of an op whose value is given; False where it cannot."""

INERT = frozenset({
    "batch_norm", "layer_norm", "dropout", "gelu", "relu", "randn_like", "rand", "sub_", "lstm", "empty", "zeros", "to",
    "unbind", "embedding",
})  # fmt: skip
"""Functions whose plain numbers may change without changing the value here, or whose value is drawn."""
COMMUTATIVE = frozenset({"add", "mul", "add_", "mul_"})


@dataclass(slots=True, kw_only=True)
class Spoiler:
    """Lets `mutate` spoil the op number `at`, or only counts the ops that it could spoil."""

    mutate: Apply
    can: Callable[[OpRecord], bool]
    at: int | None
    candidates: list[int] = field(default_factory=list)
    done: int | None = None
    """Index of the op that was spoiled."""

    def see(self, op: OpRecord, value: torch.Tensor) -> None:
        if op.payload is None or not self.can(op):
            return
        self.candidates.append(op.index)
        if op.index == self.at and self.done is None and self.mutate(op, value):
            self.done = op.index


@contextmanager
def spoiling(spoiler: Spoiler) -> Iterator[None]:
    """Install a spoiler in the recorder."""
    original = Recorder.__torch_function__

    def record(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        ops = self.builder.records.ops
        before = len(ops)
        result = original(self, func, types, args, kwargs)
        new = [op for op in ops[before:] if op.kind == "op"]
        if new and new[-1].call is not None and type(result) is torch.Tensor:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():  # no work of the model's
                spoiler.see(new[-1], result)
        return result

    Recorder.__torch_function__ = record
    try:
        yield
    finally:
        Recorder.__torch_function__ = original


@contextmanager
def hiding(name: str, number: int, met: list[str]) -> Iterator[None]:
    """Let the recorder miss the call number `number` of the function called `name`."""
    original = Recorder.__torch_function__

    def record(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") == name:
            met.append(name)
            if len(met) == number:
                return func(*args, **(kwargs or {}))
        return original(self, func, types, args, kwargs)

    Recorder.__torch_function__ = record
    try:
        yield
    finally:
        Recorder.__torch_function__ = original


def _plain_parents(op: OpRecord) -> list[int]:
    assert op.call is not None
    leaves = list(leaves_of(op.call))
    if any(isinstance(leaf, AliasRead) for leaf in leaves):
        return []
    return [leaf.index for leaf in leaves if isinstance(leaf, OpRecord)]


def drop_edge(op: OpRecord, value: torch.Tensor) -> bool:
    op.parents = op.parents[:-1]
    return True


def swap_parents(op: OpRecord, value: torch.Tensor) -> bool:
    op.parents = op.parents[::-1]
    return True


def swap_arguments(op: OpRecord, value: torch.Tensor) -> bool:
    """The two operands trade places, in the arguments and among the parents."""
    call = op.call
    assert call is not None
    first, second = call.args[:2]
    call.args = (second, first, *call.args[2:])
    op.parents = op.parents[::-1]
    return True


def shift_argument(op: OpRecord, value: torch.Tensor) -> bool:
    call = op.call
    assert call is not None
    shifted = [False]

    def shift(argument: Any) -> Any:
        if shifted[0] or isinstance(argument, bool):
            return argument
        if isinstance(argument, int):
            shifted[0] = True
            return argument + 1
        if isinstance(argument, float) and abs(argument) > 0.01:
            shifted[0] = True
            return argument * 1.5
        if isinstance(argument, slice) and argument.stop is not None:
            shifted[0] = True
            return slice(argument.start, argument.stop - 1, argument.step)
        return type(argument)(shift(item) for item in argument) if type(argument) in (list, tuple) else argument

    call.args = (*call.args[:1], *(shift(argument) for argument in call.args[1:]))
    if not shifted[0] and call.kwargs:
        call.kwargs = {name: shift(argument) for name, argument in call.kwargs.items()}
    return shifted[0]


def _shiftable(op: OpRecord) -> bool:
    call = op.call
    assert call is not None
    if call.name in INERT or call.inplace:
        return False

    def counts(argument: Any) -> bool:
        if type(argument) in (list, tuple):
            return any(counts(item) for item in argument)
        if isinstance(argument, slice):
            return argument.stop is not None
        large = isinstance(argument, float) and abs(argument) > 0.01
        return large or (isinstance(argument, int) and not isinstance(argument, bool))

    return any(counts(argument) for argument in [*call.args[1:], *(call.kwargs or {}).values()])


def stale_payload(op: OpRecord, value: torch.Tensor) -> bool:
    """The value is that of another moment."""
    saved = op.payload
    assert isinstance(saved, torch.Tensor)
    op.payload = (
        ~saved if saved.dtype is torch.bool else saved + 1 if not saved.is_floating_point() else saved * 0.9 + 0.01
    )
    return True


def forge_replacement(op: OpRecord, value: torch.Tensor) -> bool:
    """The run goes on with another value, which the record gives out for an intervention."""
    assert op.call is not None
    with torch.no_grad():
        value.data.mul_(1.5)
        op.payload = value.detach().clone()
    op.call.meta = {"is_edited": True}
    return True


def _drawn(op: OpRecord) -> bool:
    return op.call is not None and op.call.name in {"empty", "zeros"}


MUTATIONS: dict[str, tuple[Apply, Callable[[OpRecord], bool]]] = {
    "drop_edge": (drop_edge, lambda op: bool(op.parents)),
    "swap_parents": (swap_parents, lambda op: len(op.parents) > 1 and len(_plain_parents(op)) > 1),
    "swap_arguments": (
        swap_arguments,
        lambda op: (
            len(op.parents) == 2
            and op.call.name not in COMMUTATIVE
            and all(isinstance(argument, OpRecord) for argument in op.call.args[:2])
            and len(op.call.args) >= 2
        ),
    ),
    "shift_argument": (shift_argument, _shiftable),
    "stale_payload": (stale_payload, lambda op: not _drawn(op)),
    "forge_replacement": (
        forge_replacement,
        lambda op: op.payload.is_floating_point() and op.call.name not in {"empty", "zeros", "expand", "softmax"},
    ),
}
