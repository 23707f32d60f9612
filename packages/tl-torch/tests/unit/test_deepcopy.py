"""`copy.deepcopy` in the forward: of tensors, of containers of them, of modules."""

from __future__ import annotations

import copy

import torch
from graphs import Network, edges, graph, named, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_copy_of_a_tensor_is_apart_from_it() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 2
        z = copy.deepcopy(y)
        z.mul_(10)
        return y + 0, z + 0

    assert graph(forward, X) == {
        "input.1": [], "mul.1": ["input.1"], "deepcopy.1": ["mul.1"], "mul_.1": ["deepcopy.1"], "add.1": ["mul.1"],
        "add.2": ["mul_.1"], "output.1": ["add.1"], "output.2": ["add.2"],
    }  # fmt: skip


def test_copies_of_a_cache_have_one_parent_each() -> None:
    def forward(x: Tensor) -> Tensor:
        cache = {"keys": x * 2, "values": [x * 3, x[0]]}
        cache["again"] = cache["keys"]
        other = copy.deepcopy(cache)
        assert other["again"] is other["keys"]
        return other["keys"] + other["values"][0] + other["values"][1] + other["again"]

    trace = run(forward, X)
    parents = edges(trace)
    assert [parents[f"deepcopy.{k}"] for k in (1, 2, 3)] == [["mul.1"], ["mul.2"], ["getitem.1"]]
    assert "deepcopy.4" not in parents
    assert named(trace)["output.1"].out.tolist() == [[2 + 3 + 1 + 2, 4 + 6 + 2 + 4], [6 + 9 + 1 + 6, 8 + 12 + 2 + 8]]
    assert tl.validate(Network(forward), X)


class Copies(nn.Module):
    """Copies a part of itself while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(2, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return copy.deepcopy(self.part)(x)


def test_copied_module_computes_with_what_it_was_copied_from() -> None:
    model = Copies()
    trace = tl.trace(model, X)
    parents = edges(trace)
    assert parents["linear.1"] == ["input.1", "clone.1"]
    assert named(trace)["data.1"].params == ("part.weight",)
    assert parents["clone.1"] == ["data.1"]
    assert torch.equal(named(trace)["linear.1"].out, X @ model.part.weight.T)
    assert trace.capture_verified
    assert tl.validate(model, X)


class Builds(nn.Module):
    """Builds a layer while it runs, whose weights it makes itself."""

    def forward(self, x: Tensor) -> Tensor:
        layer = nn.Linear(2, 2, bias=False)
        layer.weight = nn.Parameter(torch.full((2, 2), 3.0) * 2)
        return layer(x)


def test_parameter_that_was_made_of_values_has_them_as_a_parent() -> None:
    trace = tl.trace(Builds(), X)
    assert edges(trace)["linear.1"] == ["input.1", "mul.1"]
    assert trace.outputs[0].out.tolist() == [[18, 18], [42, 42]]
