"""Records of modules and of their calls."""

from __future__ import annotations

import torch
from graphs import edges, named
from torch import Tensor, nn

import tl_torch as tl

X = torch.randn(2, 4)


class Coder(nn.Module):
    """A model whose parts are called through their methods."""

    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x)

        def encode(self, x: Tensor) -> Tensor:
            return torch.tanh(self.linear(x)) * 2

    def __init__(self) -> None:
        super().__init__()
        self.inner = Coder.Half()
        self.plain = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.plain.forward(self.inner.encode(x)) + 1


def test_methods_called_directly_are_attributed_to_their_module() -> None:
    trace = tl.trace(Coder(), X)
    ops = named(trace)
    assert ops["tanh.1"].module == "inner"
    assert ops["mul.1"].module == "inner"
    assert ops["linear.1"].module == "inner.linear"
    assert ops["linear.1"].modules == ("inner:1", "inner.linear:1")
    assert ops["linear.2"].module == "plain"
    assert ops["add.1"].module == ""
    assert edges(trace)["add.1"] == ["linear.2"]


def test_a_method_of_another_module_in_the_place_of_a_forward_is_attributed_to_its_own() -> None:
    class Other(Coder.Half):
        def twice(self, x: Tensor) -> Tensor:
            return self.linear(x * 2)

    class Lends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.other = Other()
            self.outer = nn.Identity()
            self.outer.forward = self.other.twice

        def forward(self, x: Tensor) -> Tensor:
            return self.outer(x)

    ops = named(tl.trace(Lends(), X))
    assert ops["mul.1"].modules == ("outer:1", "other:1")
    assert ops["linear.1"].modules == ("outer:1", "other:1", "other.linear:1")


def test_method_called_directly_after_its_module_was_called() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Coder.Half()

        def forward(self, x: Tensor) -> Tensor:
            x = self.inner(x) - 1
            x = self.inner.encode(x) + 1
            return torch.sin(x)

    trace = tl.trace(Both(), X)
    modules = {name: op.module for name, op in named(trace).items() if op.kind == "op"}
    assert modules == {
        "linear.1": "inner.linear",
        "sub.1": "",
        "linear.2": "inner.linear",
        "tanh.1": "inner",
        "mul.1": "inner",
        "add.1": "",
        "sin.1": "",
    }
    assert [call.method for call in trace.modules["inner"].calls] == ["forward", "encode"]


def test_method_called_directly_right_after_its_module() -> None:
    class Leaf(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

        def encode(self, x: Tensor) -> Tensor:
            return torch.tanh(x)

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.leaf = Leaf()

        def forward(self, x: Tensor) -> Tensor:
            return self.leaf.encode(self.leaf(x)) + 1

    trace = tl.trace(Both(), X)
    modules = {name: op.modules for name, op in named(trace).items() if op.kind == "op"}
    assert modules == {"mul.1": ("leaf:1",), "tanh.1": ("leaf:2",), "add.1": ()}


class Shared(nn.Module):
    """One module under two names, called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = self.first

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(self.first(x)))


def test_shared_module_is_one_record_with_three_calls() -> None:
    trace = tl.trace(Shared(), X)
    modules = [module.address for module in trace.modules]
    assert modules == ["", "first"]
    assert trace.modules["second"] == trace.modules["first"]
    ops = named(trace)
    assert [ops[f"linear.{k}"].modules[-1] for k in (1, 2, 3)] == ["first:1", "first:2", "first:3"]
    assert [ops[f"linear.{k}"].pass_number for k in (1, 2, 3)] == [1, 2, 3]
    assert len({ops[f"linear.{k}"].layer_label for k in (1, 2, 3)}) == 1
    assert ops["linear.1"].params == ("first.weight", "first.bias")


def test_container_modules_have_records() -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
            self.heads = nn.ModuleDict({"a": nn.Linear(4, 2)})
            self.unused = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = block(x)
            return self.heads["a"](x)

    trace = tl.trace(Stack(), X)
    assert [module.address for module in trace.modules] == [
        "",
        "blocks",
        "blocks.0",
        "blocks.1",
        "heads",
        "heads.a",
        "unused",
    ]
    assert trace.modules["blocks"].class_name == "ModuleList"
    assert trace.modules["heads"].class_name == "ModuleDict"
    assert len(trace.modules["blocks"].calls) == 0
    assert len(trace.modules["unused"].calls) == 0
    assert len(trace.modules["blocks.1"].calls) == 1
    assert trace["blocks.0"] == trace.modules["blocks.0"]


def test_repeated_module_has_one_call_a_pass() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(3):
                x = self.step(x)
            return x

    trace = tl.trace(Loop(), X)
    ops = named(trace)
    assert [ops[f"tanh.{k}"].modules for k in (1, 3)] == [
        ("step:1", "step.1:1"),
        ("step:3", "step.1:3"),
    ]
    assert len(trace.modules["step.1"].calls) == 3
    assert [ops[f"tanh.{k}"].num_passes for k in (1, 2, 3)] == [3, 3, 3]


def test_inputs_and_outputs_of_a_module_call() -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor, *, y: Tensor) -> tuple[Tensor, Tensor]:
            return x + y, x

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.two = Two()

        def forward(self, x: Tensor) -> Tensor:
            a, b = self.two(x * 2, y=x * 3)
            return a - b

    trace = tl.trace(Outer(), X)
    ops = named(trace)
    (call,) = trace.modules["two"].calls
    assert call.inputs == (ops["mul.1"], ops["mul.2"])
    assert call.outputs == (ops["add.1"], ops["mul.1"])
    (root,) = trace.modules[""].calls
    assert root.inputs == (ops["input.1"],)
    assert root.outputs == (ops["sub.1"],)


def test_output_that_was_written_through_a_view() -> None:
    class Fills(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.zeros(4)
            y[:2].copy_(x[0, :2])
            return y

    trace = tl.trace(nn.Sequential(Fills(), nn.ReLU()), X)
    (call,) = trace.modules["0"].calls
    assert [op.func_name for op in call.outputs] == ["zeros", "copy_"]


def test_training_flag_of_each_module() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
    model.train()[1].eval()
    trace = tl.trace(model, X)
    assert trace.modules["0"].training
    assert not trace.modules["1"].training


def test_module_that_returns_its_input() -> None:
    model = nn.Sequential(nn.Identity(), nn.Linear(4, 4), nn.Identity())
    trace = tl.trace(model, X)
    assert edges(trace) == {"input.1": [], "linear.1": ["input.1"], "output.1": ["linear.1"]}
    ops = named(trace)
    assert trace.modules["0"].calls[0].outputs == (ops["input.1"],)
    assert trace.modules["2"].calls[0].outputs == (ops["linear.1"],)


def test_deep_nesting() -> None:
    model: nn.Module = nn.Linear(4, 4)
    for _ in range(60):
        model = nn.Sequential(model)
    trace = tl.trace(model, X)
    (linear,) = (op for op in trace.ops if op.func_name == "linear")
    assert linear.module == ".".join(["0"] * 60)
    assert len(linear.modules) == 60


def test_recursive_call_of_a_module() -> None:
    class Recursive(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor, depth: int) -> Tensor:
            return x if depth == 0 else self(self.linear(x), depth - 1)

    trace = tl.trace(Recursive(), (X, 3))
    ops = named(trace)
    assert ops["linear.3"].modules[-1] == "linear:3"
    assert len(trace.modules[""].calls) == 4


def test_trace_of_a_bound_method() -> None:
    model = Coder.Half()
    trace = tl.trace(model.encode, X)
    assert edges(trace) == {
        "input.1": [],
        "linear.1": ["input.1"],
        "tanh.1": ["linear.1"],
        "mul.1": ["tanh.1"],
        "output.1": ["mul.1"],
    }
    assert named(trace)["linear.1"].module == "linear"
    assert trace.model_class_name == "Half"


def test_bound_forward_is_the_model() -> None:
    model = nn.Linear(4, 2)
    assert edges(tl.trace(model.forward, X)) == edges(tl.trace(model, X))


def test_wrapper_of_data_parallelism_is_looked_through() -> None:
    model = nn.DataParallel(nn.Sequential(nn.Linear(4, 4)))
    trace = tl.trace(model, X)
    assert named(trace)["linear.1"].module == "0"


def test_parametrized_weight_is_computed_in_the_graph() -> None:
    from torch.nn.utils import parametrize

    class Doubled(nn.Module):
        def forward(self, weight: Tensor) -> Tensor:
            return weight * 2

    linear = nn.Linear(4, 4)
    parametrize.register_parametrization(linear, "weight", Doubled())
    trace = tl.trace(linear, X)
    assert edges(trace)["linear.1"] == ["input.1", "mul.1"]
    assert named(trace)["mul.1"].params == ("parametrizations.weight.original",)


def test_lazy_module_that_was_never_called() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    trace = tl.trace(model, X)
    linear = named(trace)["linear.1"]
    assert linear.params == ("0.weight", "0.bias")
    assert linear.shape == (2, 3)
    assert trace.params["0.weight"].shape == (3, 4)


class PassesThrough(nn.Module):
    """As a root-mean-square norm does: the cast changes nothing and gives back the tensor itself."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(torch.float32)
        return x * 3


class Returns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.contiguous()


def test_a_cast_inside_a_module_that_changes_nothing_is_no_producer_outside_it() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.Sequential(PassesThrough())

        def forward(self, x: Tensor) -> Tensor:
            h = torch.relu(x)
            return h + self.norm(h)

    trace = tl.trace(Residual(), X)
    parents = edges(trace)
    assert parents["to.1"] == ["relu.1"]
    assert parents["mul.1"] == ["to.1"], "inside, the cast is what the code goes on with"
    assert parents["add.1"] == ["relu.1", "mul.1"], "outside, h is what relu made"


def test_a_module_that_returns_its_input_unchanged_is_its_producer() -> None:
    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = nn.Sequential(Returns(), Returns())

        def forward(self, x: Tensor) -> Tensor:
            return self.part(torch.relu(x)) + 0

    parents = edges(tl.trace(Chain(), X))
    assert parents["contiguous.2"] == ["contiguous.1"]
    assert parents["add.1"] == ["contiguous.2"]
