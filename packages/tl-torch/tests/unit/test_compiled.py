"""Compiled functions run as their source, and the compiler is put back as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from graphs import edges, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
compilations: list[int] = []


def counting(graph: torch.fx.GraphModule, examples: object) -> object:
    """Count what is compiled, and run it as it is."""
    compilations.append(len(graph.graph.nodes))
    return graph.forward


@torch.compile(backend=counting)
def doubled_sine(x: Tensor) -> Tensor:
    return (x * 2).sin()


def test_compiled_function_runs_as_its_source() -> None:
    compilations.clear()
    trace = run(lambda x: doubled_sine(x) + 1, X)
    assert edges(trace) == {
        "input.1": [], "mul.1": ["input.1"], "sin.1": ["mul.1"], "add.1": ["sin.1"], "output.1": ["add.1"],
    }  # fmt: skip
    assert torch.equal(trace.outputs[0].out, (X * 2).sin() + 1)
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "provenance_complete")
    assert compilations == []
    assert torch.equal(doubled_sine(X), (X * 2).sin())
    assert len(compilations) == 1  # after the trace it is compiled as ever


class Uses(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return doubled_sine(x) + 1


def test_compiled_function_is_validated_as_its_source() -> None:
    compilations.clear()
    assert tl.validate(Uses(), X)
    assert tl.validate(Uses(), X.clone().requires_grad_(), scope="backward")
    assert compilations == []


@pytest.mark.filterwarnings("ignore:The model is compiled")
def test_modules_inside_a_compiled_part_are_validated() -> None:
    part = torch.compile(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), backend=counting)
    compilations.clear()
    assert tl.validate(nn.Sequential(part, nn.Linear(2, 1)), X)
    assert compilations == []


def test_function_that_the_forward_compiles_runs_as_its_source() -> None:
    compilations.clear()
    trace = run(lambda x: torch.compile(lambda y: y.cos() * 3, backend=counting)(x), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["cos", "mul"]
    assert compilations == []


def test_module_that_the_forward_compiles_runs_as_its_source() -> None:
    class Compiles(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            return torch.compile(self.linear, backend=counting)(x)

    compilations.clear()
    trace = tl.trace(Compiles(), X)
    linear = next(op for op in trace.ops if op.func_name == "linear")
    assert linear.params == ("linear.weight", "linear.bias")
    assert compilations == []


FIRST = """
import sys, torch, tl_torch as tl
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.compile(lambda y: y.cos() * 3, backend="eager")(x)
assert "torch._dynamo" not in sys.modules
trace = tl.trace(Model(), torch.ones(2))
print([op.func_name for op in trace.ops], trace.capture_verified)
"""


def test_the_compiler_is_held_off_where_the_forward_is_what_loads_it() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIRST], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['input', 'cos', 'mul', 'output'] True", done.stderr


@pytest.mark.parametrize("fails", [False, True], ids=["after a run", "after an error"])
def test_compile_is_restored_by_identity(fails: bool) -> None:
    before = torch.compile
    during: list[object] = []

    def forward(x: Tensor) -> Tensor:
        during.append(torch.compile)
        if fails:
            raise ValueError("in the middle")
        return x + 1

    if fails:
        with pytest.raises(ValueError, match="in the middle"):
            run(forward, X)
    else:
        run(forward, X)
    assert during[0] is not before
    assert during[0].__name__ == "compile"
    assert torch.compile is before


@pytest.mark.skipif("set_stance" in vars(torch.compiler), reason="torch.compiler.set_stance does it, from torch 2.6 on")
def test_entry_to_the_compiler_is_restored_by_identity() -> None:
    import torch._dynamo.eval_frame as module

    before = module.set_eval_frame
    during: list[object] = []
    run(lambda x: during.append(module.set_eval_frame) or x + 1, X)
    assert during[0] is not before
    assert module.set_eval_frame is before
