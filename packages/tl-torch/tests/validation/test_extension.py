"""Functions of a C++ extension: those that are bound by pybind alone are not seen, and registered operators are."""

from __future__ import annotations

import shutil
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = """
#include <ATen/ops/mul.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

at::Tensor one(const at::Tensor& x) { return at::tanh(x); }
at::Tensor several(const at::Tensor& x) { return at::mul(at::sin(at::tanh(x)), 2); }

TORCH_LIBRARY(tl_extension, library) {
  library.def("one(Tensor x) -> Tensor", &one);
  library.def("several(Tensor x) -> Tensor", &several);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("one", &one);
  module.def("several", &several);
}
"""
X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or shutil.which("ninja") is None, reason="building an extension needs g++ and ninja"
)


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    cpp_extension = pytest.importorskip(
        "torch.utils.cpp_extension", reason="this torch needs setuptools to build an extension", exc_type=ImportError
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cpp_extension.load_inline(
            "tl_extension", SOURCE, extra_cflags=["-O0"], no_implicit_headers=True,
            build_directory=str(tmp_path_factory.mktemp("extension")),
        )  # fmt: skip


class Calls(nn.Module):
    """Calls a function between two operators, inside a module of its own where that is asked for."""

    def __init__(self, function: Callable[[Tensor], Tensor], *, inside: bool = False) -> None:
        super().__init__()
        self.inner = Inner(function) if inside else None
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        y = x * 3
        return (self.function(y) if self.inner is None else self.inner(y)) + 1


class Inner(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def failure(model: nn.Module) -> Any:
    with pytest.warns(tl.TorchLensWarning, match="Validation failed"):
        assert tl.validate(model, X) is False
    return tl.last_validation_failure()


@pytest.mark.parametrize("inside", [False, True], ids=["read", "returned by a module"])
@pytest.mark.parametrize("name", ["one", "several"])
def test_function_that_pybind_alone_binds_is_a_source_that_nobody_knows(
    extension: Any, name: str, inside: bool
) -> None:
    model = Calls(getattr(extension, name), inside=inside)
    trace = tl.trace(model, X)
    assert [op.func_name for op in trace.ops] == ["input", "mul", "constant", "add", "output"]
    assert torch.equal(trace.outputs[0].out, model(X))
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_source")
    assert "C++ functions bound by pybind alone" in trace.gaps[0].message
    found = failure(model)
    if name == "one":
        assert (found.check, found.extra["reasons"]) == ("source_provenance", ["unseen_source"])
    else:
        assert found.check == "bfs_completeness"
        assert found.extra["reasons"] == ["unaccounted_dispatch", "unseen_source"]
        assert "3 of 5 dispatches belong to no recorded call" in found.message
        assert "What to do: register C++ functions with TORCH_LIBRARY" in found.message
    assert found.op_label == "constant_1:1"


@pytest.mark.parametrize("name", ["one", "several"])
def test_operator_that_the_extension_registers_is_one_op(extension: Any, name: str) -> None:
    assert extension
    model = Calls(getattr(torch.ops.tl_extension, name))
    trace = tl.trace(model, X, capture=tl.CaptureOptions(completeness_witness=True))
    op = trace[f"{name}_1_2:1"]
    assert (op.func_name, op.call.kernel, op.parents) == (name, f"tl_extension::{name}", ("mul_1_1:1",))
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "dispatch_witness_verified")
    assert tl.validate(model, X)


def test_shadow_detector_names_the_line_of_an_unseen_function(extension: Any) -> None:
    with pytest.warns(tl.TorchLensWarning, match="3 of 5 dispatches"):
        trace = tl.trace(Calls(extension.several), X, capture=tl.CaptureOptions(escape_detector="shadow"))
    assert trace.capture_verification_reason == "callable_escape_shadow_report"
    row = trace.escape_diagnostics[0]
    assert (row["file"], row["function"]) == ("test_extension.py", "forward")
    assert row["line"] == Calls.forward.__code__.co_firstlineno + 2
