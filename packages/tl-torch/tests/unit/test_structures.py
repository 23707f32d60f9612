"""Where tensors may stand: in containers of every kind, in the bounds of slices, in objects that are called."""

from __future__ import annotations

import functools
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.arange(12.0).reshape(3, 4)


class Slotted:
    """An object without a dict."""

    __slots__ = ("unset", "value")

    def __init__(self, value: Tensor) -> None:
        self.value = value


class Further(Slotted):
    """One with slots of its own, and a dict."""

    def __init__(self, value: Tensor) -> None:
        super().__init__(value)
        self.other = 3


class Called:
    """An object that can be called."""

    def __init__(self, value: Tensor) -> None:
        self.value = value

    def __call__(self) -> Tensor:
        return self.value


HOLDERS: dict[str, tuple[Callable[[Tensor], Any], Callable[[Any], Tensor], str]] = {
    "deque": (lambda t: deque([t], maxlen=2), lambda held: held[0], "0"),
    "slots": (Slotted, lambda held: held.value, "value"),
    "slots_and_dict": (Further, lambda held: held.value, "value"),
    "partial": (lambda t: functools.partial(torch.add, t), lambda held: held.args[0], "args.0"),
    "keywords": (
        lambda t: functools.partial(torch.add, other=t),
        lambda held: held.keywords["other"],
        "keywords.other",
    ),
    "values": (lambda t: {"a": t}.values(), lambda held: next(iter(held)), "0"),
    "called": (Called, lambda held: held(), "value"),
    "partial_in_list": (lambda t: [functools.partial(torch.add, t)], lambda held: held[0].args[0], "0.args.0"),
}


class Takes(nn.Module):
    def __init__(self, read: Callable[[Any], Tensor]) -> None:
        super().__init__()
        self.read = read

    def forward(self, held: Any) -> Tensor:
        return self.read(held) * 2


class Holds(nn.Module):
    def __init__(self, held: Any, read: Callable[[Any], Tensor]) -> None:
        super().__init__()
        self.held = [held]
        self.read = read

    def forward(self, x: Tensor) -> Tensor:
        return x + self.read(self.held[0])


class Returns(nn.Module):
    def __init__(self, hold: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.hold = hold

    def forward(self, x: Tensor) -> Any:
        return self.hold(x * 2)


@pytest.mark.parametrize("kind", HOLDERS)
def test_input_in_a_container(kind: str) -> None:
    hold, read, path = HOLDERS[kind]
    trace = tl.trace(Takes(read), (hold(X),))
    assert [(op.label, op.parents) for op in trace.ops] == [
        ("input_1:1", ()), ("mul_1_1:1", ("input_1:1",)), ("output_1:1", ("mul_1_1:1",)),
    ]  # fmt: skip
    assert trace["input_1"].address == f"held.{path}"
    assert trace.capture_verified is True


@pytest.mark.parametrize("kind", HOLDERS)
def test_attribute_in_a_container(kind: str) -> None:
    hold, read, path = HOLDERS[kind]
    trace = tl.trace(Holds(hold(torch.ones(4)), read), X)
    assert trace["constant_1"].address == f"held.0.{path}"
    assert trace["add_1_1"].ops[0].parents == ("input_1:1", "constant_1:1")
    assert trace.capture_verified is True


@pytest.mark.parametrize("kind", HOLDERS)
def test_output_in_a_container(kind: str) -> None:
    hold, _, path = HOLDERS[kind]
    trace = tl.trace(Returns(hold), X)
    assert [(op.address, op.parents) for op in trace.outputs] == [(path, ("mul_1_1:1",))]
    assert tl.validate(Returns(hold), X) is True


def test_bounds_of_a_slice_are_parents() -> None:
    def forward(x: Tensor) -> Tensor:
        flat = x.flatten()
        best = flat.argmin() + 3
        flat[best : best + 2] = 0
        return flat[best:].sum() + x[best - 2 :, :best].sum()

    trace = tl.trace(Takes(lambda x: forward(x)), (X,))
    assert trace["setitem_1"].ops[0].parents == ("flatten_1_1:1", "add_1_3:1", "add_2_4:1")
    assert trace["getitem_1"].ops[0].parents == ("setitem_1_5:1", "add_1_3:1")
    assert trace["getitem_2"].ops[0].parents[-2:] == ("sub_1_8:1", "add_1_3:1")
    assert repr(trace["getitem_1"].ops[0].call.args[1]).startswith("slice(<Op add_1_3:1")


def test_a_bound_that_is_written_later_is_replayed_as_it_was() -> None:
    def forward(x: Tensor) -> Tensor:
        start = torch.tensor(1)
        first = x[:, start:]
        start += 1
        return first.sum() + x[:, start:].sum()

    trace = tl.trace(Takes(forward), (X,))
    assert trace["getitem_1"].ops[0].parents == ("input_1:1", "tensor_1_1:1")
    assert trace["getitem_2"].ops[0].parents == ("input_1:1", "add_1_3:1")
    assert tl.validate(Takes(forward), (X,)) is True


def test_a_slice_with_tensors_comes_back_from_a_bundle(tmp_path: Any) -> None:
    keep = tl.CaptureOptions(save_args=True, save_rng=True)
    trace = tl.trace(Takes(lambda x: x[torch.tensor(1) :]), (X,), capture=keep)
    loaded = tl.load(trace.save(tmp_path / "run.tlspec", level="executable_with_callables"))
    assert loaded["getitem_1"].ops[0].parents == ("input_1:1", "tensor_1_1:1")
    assert loaded.validate_forward_pass([trace.outputs[0].out]) is True
