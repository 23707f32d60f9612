"""Models that return all kinds of things, or nothing."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch
from graphs import edges, run
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from pathlib import Path

X = torch.ones(2)
Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Result:
    """An answer with a tensor inside."""

    logits: Tensor
    extra: dict[str, list[Tensor]]


def outputs(trace: object) -> dict[str, list[str]]:
    """Return the parents of each output by role."""
    ops = [op for op in trace.ops if op.kind == "output"]
    name_of = {op.label: op.func_name if op.kind == "op" else op.kind for op in trace.ops}
    return {op.io_role: [name_of[parent] for parent in op.parents] for op in ops}


@pytest.mark.parametrize("value", [None, 3, 2.5, True, "text", object(), [], {}, (1, "two"), {"n": None}])
def test_models_that_return_no_tensor(value: object) -> None:
    def forward(x: Tensor) -> object:
        x * 2
        return value

    trace = run(forward, X)
    assert outputs(trace) == {}
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul"]
    assert trace.outcome == "complete"


def test_nested_structures() -> None:
    def forward(x: Tensor) -> object:
        return {"a": [x * 2, (x + 1, None)], "b": Pair(x - 1, {"c": x / 2}), "n": 3}

    assert outputs(run(forward, X)) == {
        "output.a.0": ["mul"],
        "output.a.1.0": ["add"],
        "output.b.a": ["sub"],
        "output.b.b.c": ["div"],
    }


def test_a_single_tensor_has_the_plain_role() -> None:
    assert outputs(run(lambda x: x * 2, X)) == {"output": ["mul"]}


def test_tuple_positions() -> None:
    assert outputs(run(lambda x: (x * 2, x + 1), X)) == {"output.0": ["mul"], "output.1": ["add"]}


def test_dataclass() -> None:
    trace = run(lambda x: Result(x * 2, {"more": [x + 1]}), X)
    assert outputs(trace) == {"output.logits": ["mul"], "output.extra.more.0": ["add"]}


def test_the_same_tensor_twice() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 2
        return y, y

    parents = edges(run(forward, X))
    assert parents["output.1"] == parents["output.2"] == ["mul.1"]


def test_the_input_unchanged() -> None:
    trace = run(lambda x: x, X)
    assert edges(trace) == {"input.1": [], "output.1": ["input.1"]}
    assert trace[-1].out.tolist() == [1, 1]


def test_a_model_without_parameters_or_operations() -> None:
    trace = tl.trace(nn.Identity(), X)
    assert edges(trace) == {"input.1": [], "output.1": ["input.1"]}
    assert len(trace.params) == 0


def test_an_output_that_was_written_through_a_view() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        y[0].add_(1)
        return y

    trace = run(forward, X)
    assert edges(trace)["output.1"] == ["mul.1", "add_.1"]
    assert trace[-1].out.tolist() == [3, 2]


def test_a_generator_is_left_alone() -> None:
    def forward(x: Tensor) -> object:
        return (x * k for k in range(3))

    trace = run(forward, X)
    assert trace.outcome == "complete"


def test_an_object_of_the_users_own_with_a_tensor() -> None:
    class Answer:
        def __init__(self, logits: Tensor) -> None:
            self.logits = logits

    trace = run(lambda x: Answer(x * 2), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul"]


def test_the_value_returned_is_the_models_own_object() -> None:
    kept: list[object] = []

    class Keeps(nn.Module):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            kept.append({"y": x * 2})
            return kept[0]

    tl.trace(Keeps(), X)
    assert type(kept[0]["y"]) is Tensor
    assert kept[0]["y"].tolist() == [2, 2]


class ReturnsWeights(nn.Module):
    """Returns parameters themselves beside what it computes, one of them tied."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.arange(6.0).reshape(3, 2))
        self.linear = nn.Linear(2, 2)
        self.same = self.linear.weight
        self.idle = nn.Parameter(torch.zeros(5))

    def forward(self, x: Tensor) -> object:
        return self.linear(x), self.codes, {"tied": self.same}


def test_a_parameter_that_the_model_returns_is_read_by_the_output_that_it_is(tmp_path: Path) -> None:
    trace = tl.trace(ReturnsWeights(), torch.ones(1, 2))
    for one in (trace, tl.load(trace.save(tmp_path / "run.tlspec"))):
        assert [(op.address, op.parents, op.params) for op in one.outputs] == [
            ("0", ("linear_1_1:1",), ()),
            ("1", (), ("codes",)),
            ("2.tied", (), ("same",)),
        ]
        assert [op.label for op in one.params["codes"].ops] == ["output_2:1"]
        assert [op.label for op in one.params["same"].ops] == ["linear_1_1:1", "output_3:1"]
        assert one.params["idle"].ops == ()
        assert "5 not used in this run" in str(one.summary())
    assert tl.validate(ReturnsWeights(), torch.ones(1, 2)) is True
