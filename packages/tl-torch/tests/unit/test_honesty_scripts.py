"""TorchScript functions and submodules: one boundary op each, and a gap where they write."""

from __future__ import annotations

import warnings

import pytest
import torch
from graphs import edges
from torch import Tensor, nn

import tl_torch as tl

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch announces the end of TorchScript

    @torch.jit.script
    def doubled_tanh(x: Tensor) -> Tensor:
        return torch.tanh(x) * 2

    @torch.jit.script
    def split(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x - 1

    @torch.jit.script
    def written(x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2

    @torch.jit.script
    def erased(x: Tensor) -> None:
        x.zero_()

    SCRIPTED = torch.jit.script(nn.Linear(2, 2))


class Calls(nn.Module):
    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def test_scripted_function_is_one_op_with_a_warning_at_the_call_of_trace() -> None:
    with pytest.warns(tl.TorchLensWarning, match=r"doubled_tanh.*PYTORCH_JIT=0") as caught:
        trace = tl.trace(Calls(lambda x: doubled_tanh(x * 3) + 1), X)
    assert [warning.message.code for warning in caught] == ["torchscript_boundary"]
    assert caught[0].filename == __file__
    assert edges(trace) == {
        "input.1": [], "mul.1": ["input.1"], "jitscript.1": ["mul.1"], "add.1": ["jitscript.1"], "output.1": ["add.1"],
    }  # fmt: skip
    op = trace["jitscript_1_2:1"]
    assert op.transform_kind == "jit.script"
    assert torch.equal(op.out, torch.tanh(X * 3) * 2)
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "provenance_complete")
    (row,) = trace.annotations["capture_advisories"]
    assert (row["kind"], row["count"], row["first_location"]) == ("torchscript_boundary", 1, "doubled_tanh")


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_replay_calls_the_function_again() -> None:
    model = Calls(lambda x: doubled_tanh(x * 3) + 1)
    assert tl.validate(model, X)
    trace = tl.trace(model, X)
    assert trace.validate_forward_pass([model(X)]) is True


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_scripted_function_with_two_outputs() -> None:
    trace = tl.trace(Calls(lambda x: split(x)[1]), X)
    first, second = [op for op in trace.ops if op.func_name == "jitscript"]
    assert (first.output_index, second.output_index) == (0, 1)
    assert torch.equal(second.out, X - 1)
    assert trace.outputs[0].parents == (second.label,)


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
@pytest.mark.parametrize("function", [written, erased])
def test_scripted_writer_is_a_gap_and_an_advisory(function: object) -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 1
        function(y)
        return y + 0

    trace = tl.trace(Calls(forward), X)
    assert trace.capture_verified is False
    assert trace.capture_verification_reason == "scripted_function_not_captured"
    assert [row["kind"] for row in trace.annotations["capture_advisories"]] == [
        "torchscript_boundary", "scripted_function_not_captured",
    ]  # fmt: skip
    assert "jitscript_1_2:1" in trace[-2].parents  # the later reader still has the writer


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_scripted_submodule_is_one_op_inside_its_module() -> None:
    model = nn.Sequential(nn.ReLU(), SCRIPTED)
    trace = tl.trace(model, X)
    op = trace.ops[2]
    assert (op.func_name, op.module, op.transform_kind) == ("jitscript", "1", "jit.script")
    assert torch.allclose(op.out, model(X))
    assert trace.capture_verified


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_scripted_submodule_shows_its_parameters_and_its_hidden_writes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    model = nn.Sequential(nn.ReLU(), scripted)
    trace = tl.trace(model.eval(), X)
    names = ("1.0.weight", "1.0.bias", "1.1.weight", "1.1.bias")
    assert tuple(param.address for param in trace.params) == names
    assert trace.ops[2].params == names
    assert trace.capture_verified
    trace = tl.trace(model.train(), X)
    assert trace.capture_verification_reason == "scripted_function_not_captured"  # running statistics


@pytest.mark.parametrize("owner", [torch._C.ScriptFunction, torch._C.ScriptMethod])
def test_callers_of_scripts_are_restored_by_identity(owner: type) -> None:
    before = vars(owner)["__call__"]
    during: list[object] = []
    tl.trace(Calls(lambda x: during.append(vars(owner)["__call__"]) or x + 1), X)
    assert during[0] is not before
    assert vars(owner)["__call__"] is before


def test_callers_of_scripts_are_restored_after_an_error() -> None:
    before = vars(torch._C.ScriptFunction)["__call__"]

    def forward(x: Tensor) -> Tensor:
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        tl.trace(Calls(forward), X)
    assert vars(torch._C.ScriptFunction)["__call__"] is before
    assert torch.equal(doubled_tanh(X), torch.tanh(X) * 2)
