"""Models that call themselves, traced and held against a plain forward."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import tl_torch as tl

X = torch.arange(8.0).reshape(2, 4) / 8


class Descends(nn.Module):
    """Adds one on the way down, and applies its weights at the bottom."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, depth: int = 3) -> Tensor:
        return self.linear(x) if depth == 0 else torch.relu(self(x + 1, depth - 1)) * 2


class Folds(nn.Module):
    """A network over a tree of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.join = nn.Linear(8, 4)

    def forward(self, tree: list[object] | Tensor) -> Tensor:
        if isinstance(tree, Tensor):
            return tree
        return self.join(torch.cat([self(branch) for branch in tree], dim=-1))


def test_recursive_model_has_labels_passes_and_values() -> None:
    trace = tl.trace(Descends(), X)
    assert [op.label for op in trace.ops] == [
        "input_1:1", "add_1_1:1", "add_1_1:2", "add_1_1:3", "linear_1_2:1", "relu_1_3:1", "mul_1_4:1", "relu_1_3:2",
        "mul_1_4:2", "relu_1_3:3", "mul_1_4:3", "output_1:1",
    ]  # fmt: skip
    assert torch.equal(trace.ops["add_1_1:3"].out, X + 3)
    assert torch.equal(trace.ops["mul_1_4:3"].out, torch.relu(trace.ops["linear_1_2:1"].out) * 8)


def test_a_tree_of_lists_folds_at_every_node() -> None:
    trace = tl.trace(Folds(), [[[X, X + 1], X + 2]])
    assert [op.label for op in trace.ops if op.kind == "op"] == [
        "cat_1_1:1",
        "linear_1_2:1",
        "cat_1_1:2",
        "linear_1_2:2",
    ]
    assert trace.ops["cat_1_1:2"].parents == ("linear_1_2:1", "input_3:1")


class Branches(nn.Module):
    """Calls itself twice in a loop; its last call comes after those of the inner ones."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, depth: int = 2) -> Tensor:
        y = self.linear(x)
        for _ in range(2 if depth else 0):
            y = y + self(y.sin(), depth - 1)
        return y.relu()


def test_a_model_that_calls_itself_twice_folds_though_its_leaves_do_less() -> None:
    trace = tl.trace(Branches(), X)
    assert {layer.label: layer.num_passes for layer in trace.layers if layer.ops[0].kind == "op"} == {
        "linear_1_1": 7, "sin_1_2": 6, "relu_1_3": 7, "add_1_4": 6,
    }  # fmt: skip
    assert [op.pass_number for op in trace.ops if op.func_name == "relu"] == [1, 2, 3, 4, 5, 6, 7]


class Ping(nn.Module):
    """Calls a module that calls it again."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.__dict__["pong"] = Pong(self)

    def forward(self, x: Tensor, depth: int) -> Tensor:
        x = self.linear(x).sin()
        return self.pong(x, depth - 1).cos() if depth else x


class Pong(nn.Module):
    """The other one."""

    def __init__(self, ping: Ping) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.ping = ping

    def forward(self, x: Tensor, depth: int) -> Tensor:
        return self.linear(self.ping(x.exp(), depth)).tanh()


def test_two_modules_that_call_each_other() -> None:
    trace = tl.trace(Ping(), (X, 2))
    assert [op.label for op in trace.ops if op.kind == "op"] == [
        "linear_1_1:1", "sin_1_2:1", "exp_1_3:1", "linear_1_1:2", "sin_1_2:2", "exp_1_3:2", "linear_1_1:3",
        "sin_1_2:3", "linear_2_4:1", "tanh_1_5:1", "cos_1_6:1", "linear_2_4:2", "tanh_1_5:2", "cos_1_6:2",
    ]  # fmt: skip


def test_a_shorter_call_of_a_shared_module_repeats_its_sites() -> None:
    """The call that leaves early has one call without weights, whose place follows from where the module was called."""

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor, whole: bool) -> Tensor:
            y = self.linear(x).sin()
            return y.cos() if whole else y

    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = Encoder()

        def forward(self, x: Tensor) -> Tensor:
            first = self.encoder(x, True)
            second = self.encoder(first, False)
            return self.encoder(second, True)

    assert [op.label for op in tl.trace(Reads(), X).ops if op.kind == "op"] == [
        "linear_1_1:1", "sin_1_2:1", "cos_1_3:1", "linear_1_1:2", "sin_1_2:2", "linear_1_1:3", "sin_1_2:3", "cos_1_3:2",
    ]  # fmt: skip


def test_recursive_models_validate() -> None:
    """What each call returned is held against the same call of the plain forward, the outer ones included."""
    assert tl.validate(Descends(), X) is True
    assert tl.validate(Folds(), [[[X, X + 1], X + 2]]) is True


def test_a_call_that_raised_keeps_its_place_among_the_calls_of_its_module() -> None:
    class Tries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            try:
                self.linear(x[:, :2])
            except RuntimeError:
                return self.linear(self.linear(x))
            return x

    model = Tries()
    assert [len(call.outputs) for call in tl.trace(model, X).modules["linear"].calls] == [0, 1, 1]
    assert tl.validate(model, X) is True
