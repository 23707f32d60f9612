"""Where values come from: parameters, buffers, constants, factories."""

from __future__ import annotations

import torch
from graphs import edges, graph, named, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.ones(2)
TABLE = torch.tensor([10.0, 20.0])
TABLES = {"deep": [torch.tensor([1.0, 2.0])]}


def test_parameter_used_outside_its_module() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 2)
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, tokens: Tensor) -> Tensor:
            hidden = self.embed(tokens) * self.scale
            return hidden @ self.embed.weight.t()

    trace = tl.trace(Tied(), torch.tensor([1, 2]))
    assert edges(trace) == {
        "input.1": [],
        "embedding.1": ["input.1"],
        "mul.1": ["embedding.1"],
        "t.1": [],
        "matmul.1": ["mul.1", "t.1"],
        "output.1": ["matmul.1"],
    }
    ops = named(trace)
    assert ops["embedding.1"].params == ("embed.weight",)
    assert ops["mul.1"].params == ("scale",)
    assert ops["t.1"].params == ("embed.weight",)
    assert ops["t.1"].module == ""


def test_tied_weights_are_one_parameter() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 2)
            self.head = nn.Linear(2, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.embed(tokens))

    trace = tl.trace(Tied(), torch.tensor([1, 2]))
    assert [param.address for param in trace.params] == ["embed.weight"]
    assert trace.params["head.weight"] == trace.params["embed.weight"]
    assert named(trace)["linear.1"].params == ("embed.weight",)


def test_parameter_lists() -> None:
    class Lists(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(2)])

        def forward(self, x: Tensor) -> Tensor:
            for weight in self.weights:
                x = x * weight
            return x

    trace = tl.trace(Lists(), X)
    assert [named(trace)[f"mul.{k}"].params for k in (1, 2)] == [("weights.0",), ("weights.1",)]


def test_parameter_returned_as_it_is() -> None:
    class Returns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x * 2, self.weight

    trace = tl.trace(Returns(), X)
    assert [op.out.tolist() for op in trace.ops if op.kind == "output"] == [[2, 2], [1, 1]]


def test_a_buffer_is_one_source_however_often_it_is_read() -> None:
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", torch.tensor([1.0, 2.0]))
            self.register_buffer("absent", None)

        def forward(self, x: Tensor) -> Tensor:
            return (x + self.shift) * self.shift

    trace = tl.trace(Reads(), X)
    assert edges(trace) == {
        "input.1": [],
        "buffer.1": [],
        "add.1": ["input.1", "buffer.1"],
        "mul.1": ["add.1", "buffer.1"],
        "output.1": ["mul.1"],
    }
    op = named(trace)["buffer.1"]
    assert (op.kind, op.address, op.is_buffer) == ("buffer", "shift", True)
    assert op.out.tolist() == [1, 2]
    assert [buffer.address for buffer in trace.buffers] == ["shift"]


def test_buffer_assigned_during_the_run() -> None:
    class Assigns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("state", torch.zeros(2))

        def forward(self, x: Tensor) -> Tensor:
            self.state = self.state + x
            return self.state * 2

    model = Assigns()
    trace = tl.trace(model, X)
    assert edges(trace)["mul.1"] == ["add.1"]
    assert model.state.tolist() == [1, 1]


def test_closure_constant() -> None:
    held = torch.tensor([3.0, 4.0])
    trace = run(lambda x: x + held, X)
    assert edges(trace) == {
        "input.1": [],
        "constant.1": [],
        "add.1": ["input.1", "constant.1"],
        "output.1": ["add.1"],
    }
    op = named(trace)["constant.1"]
    assert (op.kind, op.is_constant) == ("constant", True)
    assert op.out.tolist() == [3, 4]


def test_module_global_constant() -> None:
    trace = run(lambda x: x * TABLE + TABLES["deep"][0], X)
    parents = edges(trace)
    ops = named(trace)
    assert parents["mul.1"] == ["input.1", "constant.1"]
    assert parents["add.1"] == ["mul.1", "constant.2"]
    assert ops["constant.1"].out.tolist() == [10, 20]
    assert "TABLE" in ops["constant.1"].address
    assert ops["constant.2"].out.tolist() == [1, 2]


def test_default_argument_constant() -> None:
    class Default(nn.Module):
        def forward(self, x: Tensor, shift: Tensor = TABLE) -> Tensor:
            return x - shift

    trace = tl.trace(Default(), X)
    (_, source) = edges(trace)["sub.1"]
    assert named(trace)[source].kind == "constant"
    assert trace[-1].out.tolist() == [-9, -19]


def test_constants_follow_the_choice_of_what_is_saved() -> None:
    held = torch.tensor([3.0, 4.0])
    trace = run(lambda x: x + held, X, save="none")
    assert named(trace)["constant.1"].out is None


def test_a_tensor_made_while_running_is_no_constant() -> None:
    def forward(x: Tensor) -> Tensor:
        made = torch.tensor([1.0, 2.0])

        def inner() -> Tensor:
            return x + made

        return inner()

    assert graph(forward, X)["add.1"] == ["input.1", "tensor.1"]


def test_factories_are_ops_without_parents() -> None:
    def forward(x: Tensor) -> Tensor:
        total = x + torch.ones(2) + torch.arange(2) + torch.rand(2) + torch.full((2,), 3.0)
        return total + torch.zeros_like(x) + x.new_ones(2)

    trace = run(forward, X)
    parents = edges(trace)
    for factory in ("ones", "arange", "rand", "full"):
        assert parents[f"{factory}.1"] == []
    assert parents["zeros_like.1"] == ["input.1"]
    assert parents["new_ones.1"] == ["input.1"]
    assert all(op.kind == "op" for name, op in named(trace).items() if name.startswith("ones"))


def test_functions_bound_long_ago_are_seen() -> None:
    from functools import partial

    from torch import relu as held

    class Holder:
        function = staticmethod(torch.tanh)

    table = {"sigmoid": torch.sigmoid}
    doubled = partial(torch.mul, other=torch.tensor(2.0))

    def forward(x: Tensor) -> Tensor:
        return doubled(table["sigmoid"](Holder.function(held(x))))

    trace = run(forward, X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == [
        "relu",
        "tanh",
        "sigmoid",
        "mul",
    ]
    assert trace.capture_verified is True
    assert trace.capture_verification_reason == "provenance_complete"
    assert len(trace.gaps) == 0


def test_orphans_are_left_out_unless_asked_for() -> None:
    def forward(x: Tensor) -> Tensor:
        torch.ones(3) * 2
        torch.sin(x)
        return x + 1

    names = [op.func_name for op in run(forward, X).ops if op.kind == "op"]
    assert names == ["sin", "add"]
    options = tl.CaptureOptions(keep_orphans=True)
    names = [op.func_name for op in run(forward, X, capture=options).ops if op.kind == "op"]
    assert names == ["ones", "mul", "sin", "add"]
