"""Work that no seam shows and whose value leaves at once, hides in a handler, or is written by a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from graphs import run
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

X = torch.tensor([[1.0, 2.0], [0.5, 3.0]])
HIDE = torch._C.DisableTorchFunction


def hidden(x: Tensor) -> Tensor:
    with HIDE():
        return torch.tanh(x)


def steered(x: Tensor) -> Tensor:
    return x + 1 if hidden(x).sum() > 0 else x


READS = {
    "item": lambda x: (hidden(x).sum().item(), x + 1)[1],
    "branch": steered,
    "tolist": lambda x: (hidden(x).tolist(), x + 1)[1],
    "numpy": lambda x: (hidden(x).numpy(), x + 1)[1],
    "array": lambda x: (np.asarray(hidden(x)), x + 1)[1],
    "dlpack": lambda x: (np.from_dlpack(hidden(x)), x + 1)[1],
    "float": lambda x: (float(hidden(x)[0, 0]), x + 1)[1],
}


@pytest.mark.parametrize("way", READS)
@pytest.mark.filterwarnings("ignore::tl_torch.ScalarEscapeWarning")
def test_value_that_is_only_read_still_has_no_source(way: str) -> None:
    with torch.no_grad():
        trace = run(READS[way], X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_source")


class Interiors(torch.Tensor):
    """A tensor class whose handler runs what it is given, and more, out of sight."""

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with HIDE():
            plain = [arg.as_subclass(Tensor) if isinstance(arg, Interiors) else arg for arg in args]
            result = func(*plain, **(kwargs or {}))
            return result * 2 if func is torch.tanh else result


def test_handler_of_a_tensor_class_is_part_of_the_op() -> None:
    special = torch.ones(2, 2).as_subclass(Interiors)
    trace = run(lambda x: torch.tanh(special) + x, X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["tanh", "add"]
    assert torch.equal(trace["tanh_1_1:1"].out.as_subclass(Tensor), torch.tanh(torch.ones(2, 2)) * 2)
    assert trace.capture_verified


class Pops(TorchFunctionMode):
    """A mode of a third party that runs a composite with all modes switched off."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with HIDE():
            return func(*args, **(kwargs or {}))


def test_mode_that_keeps_calls_to_itself_leaves_a_tensor_without_a_source() -> None:
    def forward(x: Tensor) -> Tensor:
        with Pops():
            y = torch.tanh(x)
        return y + 1

    trace = run(forward, X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_source")


def by_numpy(module: nn.Module, args: object, output: Tensor) -> None:
    output.numpy()[0, 0] = 7


def by_storage(module: nn.Module, args: object, output: Tensor) -> None:
    output.untyped_storage().fill_(0)


def out_of_sight(module: nn.Module, args: object, output: Tensor) -> None:
    with HIDE():
        output.mul_(2)


def by_data(module: nn.Module, args: object, output: Tensor) -> None:
    output.data.mul_(2)


def model_with(hook: Callable[..., None], *, bypass: bool = False) -> nn.Module:
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    if bypass:
        model[0]._forward_hooks[-1] = hook  # not through the public registration
    else:
        model[0].register_forward_hook(hook)
    return model


@pytest.mark.parametrize("bypass", [False, True], ids=["registered", "past the registration"])
@pytest.mark.parametrize("hook", [by_numpy, by_storage, out_of_sight], ids=lambda hook: hook.__name__)
def test_hook_that_writes_unseen_is_noticed(hook: Callable[..., None], bypass: bool) -> None:
    with torch.no_grad():
        trace = tl.trace(model_with(hook, bypass=bypass), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")
    assert "The result of 'relu' was written in place" in trace.gaps[0].message


@pytest.mark.parametrize("bypass", [False, True], ids=["registered", "past the registration"])
def test_hook_that_writes_through_data_is_seen(bypass: bool) -> None:
    model = model_with(by_data, bypass=bypass)
    with torch.no_grad():
        trace = tl.trace(model, X)
        assert [op.func_name for op in trace.ops if op.kind == "op"] == ["relu", "data", "mul_", "tanh"]
        assert trace["tanh_1_4:1"].parents == ("mul_1_3:1",)
        assert trace.capture_verified
        assert tl.validate(model, X)
