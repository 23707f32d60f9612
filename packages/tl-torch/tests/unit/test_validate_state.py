"""`validate` on models that write over their parameters and replace their buffers while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl
from tl_core import TorchLensWarning

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.arange(8.0).reshape(2, 4) / 4 + 1


class Stateful(nn.Module):
    def __init__(self, function: Callable[[Stateful, Tensor], Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("count", torch.ones(4))
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)


def copies_into_a_parameter(self: Stateful, x: Tensor) -> Tensor:
    with torch.no_grad():
        self.linear.weight.copy_(torch.eye(4))
        self.linear.bias.zero_()
    return self.linear(x)


def gives_a_parameter_other_data(self: Stateful, x: Tensor) -> Tensor:
    self.linear.weight.data = self.linear.weight.data * 2
    return self.linear(x)


def casts_itself_back_and_forth(self: Stateful, x: Tensor) -> Tensor:
    self.double()
    y = self.linear(x.double()) * self.count
    self.float()
    return y


def loads_its_state(self: Stateful, x: Tensor) -> Tensor:
    self.load_state_dict({name: value * 2 for name, value in self.state_dict().items()})
    return self.linear(x) * self.count


def assigns_a_buffer(self: Stateful, x: Tensor) -> Tensor:
    self.count = self.count + 1
    return x * self.count


def registers_a_buffer_again(self: Stateful, x: Tensor) -> Tensor:
    self.register_buffer("count", self.count * 2)
    return x * self.count


def forgets_a_buffer(self: Stateful, x: Tensor) -> Tensor:
    y = x * self.count
    self.count = torch.zeros(4)
    return y


CASES = [
    copies_into_a_parameter, gives_a_parameter_other_data, casts_itself_back_and_forth, loads_its_state,
    assigns_a_buffer, registers_a_buffer_again, forgets_a_buffer,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_models_that_change_their_state_validate(function: Callable[[Stateful, Tensor], Tensor]) -> None:
    model = Stateful(function)
    held = dict(model.state_dict(keep_vars=True))
    assert tl.validate(model, X) is True
    assert all(model.state_dict(keep_vars=True)[name] is value for name, value in held.items())


def test_a_replaced_buffer_is_read_from_what_made_it() -> None:
    trace = tl.trace(Stateful(assigns_a_buffer), X)
    assert [(op.label, op.parents) for op in trace.ops if op.kind == "op"] == [
        ("add_1_1:1", ("buffer_1:1",)), ("mul_1_2:1", ("input_1:1", "add_1_1:1")),
    ]  # fmt: skip
    assert torch.equal(trace["mul_1_2"].out, X * 2)


def test_a_buffer_that_is_written_unseen_still_fails() -> None:
    def writes_unseen(self: Stateful, x: Tensor) -> Tensor:
        self.count.numpy()[:] = 7
        return x + 1

    with pytest.warns(TorchLensWarning, match="Validation failed"):
        assert tl.validate(Stateful(writes_unseen), X) is False


def test_memory_that_new_left_unwritten_is_not_compared() -> None:
    """`Tensor.new` with sizes returns memory as it found it; with values it holds them."""

    def takes_memory(self: Stateful, x: Tensor) -> Tensor:
        made = x.new(2, 4)
        return made.copy_(x) + x.new([1.0, 2.0, 3.0, 4.0]) + x.new(x.shape).fill_(1)

    assert tl.validate(Stateful(takes_memory), X) is True


@pytest.mark.filterwarnings(
    "ignore:.torch.jit:FutureWarning", "ignore:.torch.jit:DeprecationWarning", "ignore::tl_core.TorchLensWarning"
)
@pytest.mark.parametrize("make", [torch.jit.script, lambda module: torch.jit.trace(module, X)])
def test_a_model_with_a_scripted_part(make: Callable[[nn.Module], nn.Module]) -> None:
    assert tl.validate(nn.Sequential(nn.Linear(4, 4), make(nn.Linear(4, 2))), X) is True
