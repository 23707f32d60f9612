"""What newcomers write where a selector, a label or an earlier trace is meant."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tl_torch as tl
from tl_core import ConfigurationError, DivergenceError, FieldUnavailableError

X = torch.ones(2, 4)


class Net(nn.Module):
    def __init__(self, act: nn.Module | None = None) -> None:
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(4, 4), act or nn.ReLU())
        self.head = nn.Linear(4, 3)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.head(self.layer1(x))


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        (
            "layer1",
            "'layer1' is a module: save=tl.in_module('layer1') means every op inside it, save=tl.module('layer1') what "
            "it returns",
        ),
        ("relu", "'relu' is a function: save=tl.func('relu')"),
        ("batch_norm", "'batch_norm' is a function: save=tl.func('batch_norm')"),
        (
            "layer2",
            "closest: save=tl.in_module('layer1'), save=tl.in_module('layer1.1'), save=tl.in_module('layer1.0')",
        ),
        ("conv2", "closest: save=tl.func('conv2d')"),
        (
            "layer1.2",
            "closest: save=tl.in_module('layer1.1'), save=tl.in_module('layer1.0'), save=tl.in_module('layer1')",
        ),
    ],
)
def test_a_name_in_save_is_told_as_what_it_is(text, ways) -> None:
    net = Net()
    for save in (text, [text], [tl.func("relu"), text]):
        with pytest.raises(ConfigurationError) as caught:
            tl.trace(net, X, save=save)
        assert caught.value.code == "live_label_needs_like"
        assert caught.value.remedy == (
            f"{ways}. A label needs an earlier trace: "
            f"first = tl.trace(model, x); tl.trace(model, x, save={text!r}, like=first)"
        )
    assert net.calls == 0


def test_a_predicate_reads_the_values_of_a_finished_trace() -> None:
    trace = tl.trace(Net(), X, save=tl.func("linear"))
    found = trace.find(tl.where(lambda op: op.out is not None and op.out.shape[-1] == 3))
    assert [op.label for op in found] == ["linear_2_3:1"]
    assert [op.label for op in trace.find(tl.where(lambda op: op.label == "relu_1_2:1"))] == ["relu_1_2:1"]


def test_a_live_predicate_is_refused_the_value() -> None:
    with pytest.raises(FieldUnavailableError) as caught:
        tl.trace(Net(), X, save=tl.where(lambda op: op.out.max() > 0))
    assert caught.value.code == "live_field_unavailable"
    assert str(caught.value).endswith(
        "What to do: ask the finished trace: trace = tl.trace(model, x); trace.find(tl.where(lambda op: op.out ...))"
    )


def test_an_earlier_trace_of_another_model_is_told_apart() -> None:
    class Other(Net):
        pass

    first = tl.trace(Net(), X, name="first")
    with pytest.raises(DivergenceError) as caught:
        tl.trace(Other(nn.Tanh()), X, save="relu_1_2", like=first)
    assert caught.value.code == "like_diverged"
    assert caught.value.problem == (
        "The run parted from the trace 'first' given as like=:\n"
        "    relu_1_2:1 in layer1.1:1 was not reached\n"
        "    'first' is a trace of another model: Net, and this is Other\n"
        "    op 2 is relu_1_2:1 in layer1.1:1 with shape (2, 4) there, and tanh_1_2:1 in layer1.1:1 with shape (2, 4) "
        "here"
    )


def test_an_earlier_trace_of_a_longer_run_is_told_apart() -> None:
    class Loop(nn.Module):
        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            made = [x]
            for _ in range(self.steps):
                made.append(torch.tanh(made[-1]))
            return [made[1]]

    first = tl.trace(Loop(3), X, name="first")
    with pytest.raises(DivergenceError) as caught:
        tl.trace(Loop(2), X, save="tanh_1_1:3", like=first)
    assert caught.value.problem.splitlines()[1:] == [
        "    tanh_1_1:3 was not reached",
        "    op 3 is tanh_1_1:3 with shape (2, 4) there, and output_1:1 with shape (2, 4) here",
    ]


class Stack(nn.Module):
    """Two blocks in a list, one expert in a dict; the first block is also called under another name."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2))
        self.experts = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x) + x
        return self.experts["b"](x)


INSIDE = {
    "blocks": ["linear_1_1:1", "tanh_1_2:1", "linear_2_4:1", "tanh_2_5:1"],
    "blocks.1": ["linear_2_4:1", "tanh_2_5:1"],
    "experts": ["linear_3_7:1"],
    "experts.a": [],
}


@pytest.mark.parametrize(("address", "labels"), INSIDE.items())
@pytest.mark.filterwarnings("ignore:save=in_module.'experts.a'. matched none")
def test_what_is_inside_a_list_is_what_is_inside_its_modules(address, labels) -> None:
    trace = tl.trace(Stack(), X, save=tl.in_module(address))
    assert [op.label for op in trace.find(tl.in_module(address))] == labels
    assert [op.label for op in trace.ops if op.payload.saved] == labels
    assert [op.label for op in trace.modules[address].ops] == labels
    assert [layer.label for layer in trace.modules[address].layers] == [label.partition(":")[0] for label in labels]
    assert trace.modules["blocks"].num_calls == 0


def test_what_a_list_returns_is_nothing_and_says_so() -> None:
    trace = tl.trace(Stack(), X, name="run")
    assert repr(trace.find(tl.module("blocks"))) == (
        "no op of 'run' is module('blocks'). 'blocks' only holds modules and returns nothing; "
        "in_module('blocks') means what they do."
    )


def test_a_condition_says_what_was_asked_and_where() -> None:
    class Gate(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if x.sum() > 0 else x

    (gate,) = tl.trace(Gate(), X).conditionals
    line = Gate.forward.__code__.co_firstlineno + 1
    assert repr(gate) == f"<Conditional ifexp x.sum() > 0: True -> then at test_names.py:{line} in forward>"
