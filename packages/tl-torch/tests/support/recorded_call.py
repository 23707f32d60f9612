"""Calls of torch functions written down by hand, without the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from tl_core import CallRecord, OpCost, OpRecord
from tl_torch._cost import cost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def op(tensor: torch.Tensor, call: CallRecord | None = None) -> OpRecord:
    kind = "input" if call is None else "op"
    return OpRecord(0, kind, call, 0, (), tuple(tensor.shape), tensor.dtype, "cpu", False, None, None, "", None)


def template(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return op(value)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(template(item) for item in value)
    return value


def record(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> CallRecord:
    name = func.__name__
    named = {key: template(value) for key, value in (kwargs or {}).items()} or None
    return CallRecord(0, name, name, func, tuple(template(a) for a in args), named, (), None, (), 0, False)


def tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in tensors(item)]
    return []


def cost_of(func: Callable[..., Any], *args: Any, **kwargs: Any) -> OpCost | None:
    """Run `func` and return the work of the call."""
    outputs = tensors(func(*args, **kwargs))
    call = record(func, args, kwargs)
    return cost(call, [op(output, call) for output in outputs])


class CostMode(TorchFunctionMode):
    """Adds up the work of the calls that arrive; those of no known work by name."""

    def __init__(self) -> None:
        super().__init__()
        self.macs = self.flops = 0
        self.unknown: list[str] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        outputs = tensors(result)
        if outputs:
            call = record(func, args, kwargs)
            found = cost(call, [op(output, call) for output in outputs])
            if found is None:
                self.unknown.append(call.name)
            else:
                self.macs += found.macs or 0
                self.flops += found.flops or 0
        return result
