"""Where a trace may begin, and what it looks through: ranks, wrappers, deep nests, traced functions, symbolic shapes."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

import tl_torch as tl

if TYPE_CHECKING:
    from pathlib import Path

X = torch.ones(2, 4)

RANK = """
import multiprocessing, sys, torch, torch.distributed as dist, tl_torch as tl

def attempt():
    try:
        return len(tl.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)).ops)
    except tl.TorchLensError as error:
        return error.code

def work(results):
    results.put(attempt())
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    results.put(attempt())

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    child = spawn.Process(target=work, args=(results,))
    child.start()
    print(results.get(timeout=200), results.get(timeout=100))
    child.join(100)
"""


@pytest.mark.skipif(not dist.is_available(), reason="this torch has no distributed package")
def test_spawned_process_is_refused_unless_it_is_a_rank(tmp_path: Path) -> None:
    program = tmp_path / "ranks.py"
    program.write_text(RANK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.split() == ["worker_process", "3"], done.stderr


def test_nest_deeper_than_python_recurses_raises_and_leaves_nothing_behind() -> None:
    model: nn.Module = nn.ReLU()
    for _ in range(1200):
        model = nn.Sequential(model)
    before = nn.Module._call_impl
    with pytest.raises(RecursionError):
        model(X)
    with pytest.raises(RecursionError):
        tl.trace(model, X)
    assert nn.Module._call_impl is before
    assert tl.trace(nn.ReLU(), X).capture_verified


def traced() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces the end of TorchScript
        return torch.jit.trace(lambda x: torch.tanh(x) * 2, X)


def test_function_that_torch_jit_traced_is_one_op() -> None:
    function = traced()

    class Calls(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return function(x * 3) + 1

    with pytest.warns(tl.TorchLensWarning, match="PYTORCH_JIT=0") as caught:
        trace = tl.trace(Calls(), X)
    assert [warning.message.code for warning in caught] == ["torchscript_boundary"]
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul", "jitscript", "add"]
    assert trace["jitscript_1_2:1"].transform_kind == "jit.script"
    assert torch.allclose(trace.outputs[0].out, torch.tanh(X * 3) * 2 + 1)
    with pytest.warns(tl.TorchLensWarning, match="PYTORCH_JIT=0"):
        assert tl.validate(Calls(), X)


def test_tensor_of_a_symbolic_shape_is_refused() -> None:
    errors: list[tl.TorchLensError] = []

    def inside(x: Tensor) -> Tensor:
        assert type(x.shape[0]) is not int
        with pytest.raises(tl.UnsupportedTensorVariantError) as caught:
            tl.trace(nn.ReLU(), x)
        errors.append(caught.value)
        return x + 1

    make_fx(inside, tracing_mode="symbolic")(torch.ones(3, 4))
    assert errors[0].code == "unsupported_tensor_variant"
    assert errors[0].fields["offenses"] == ({"address": "input", "variant": "fake tensor"},)


@pytest.mark.filterwarnings("ignore:Lazy modules:UserWarning")
def test_lazy_modules_validate_once_they_have_run_or_are_built_inside() -> None:
    class Builds(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.lazy = nn.LazyLinear(3)
            return self.lazy(x)

    lazy = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="uninitialized"):
        tl.validate(lazy, X)
    tl.trace(lazy, X)
    assert tl.validate(lazy, X)
    assert tl.validate(Builds(), X)


def test_run_inside_the_capture_of_a_graph_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)  # stands in for a device
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    trace = tl.trace(nn.ReLU(), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "cuda_graph_capture")
    assert trace.gaps[0].message == "The forward pass ran inside the capture of a CUDA graph."
