"""Operators that are given functions: one op each, with everything that the functions read as a parent."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch
from graphs import edges, run
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Iterator

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # the compiler looks at it
newer = pytest.mark.skipif(VERSION < (2, 6), reason="this operator came with torch 2.5 and 2.6")


@pytest.fixture(autouse=True)
def gradients() -> Iterator[None]:
    with torch.set_grad_enabled(VERSION >= (2, 6)):  # before, cond itself refuses to follow closures with gradients
        yield


class Branches(nn.Module):
    """Adds a tensor of its own to one of two branches, one of which calls a module."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        shift, other = x * 2, x * 3
        y = torch.cond(x.sum() > 0, lambda x: self.linear(x) + shift, lambda x: x - other, (x,))
        return y + 1


@pytest.mark.parametrize("sign", [1, -1])
def test_cond_is_one_op_that_names_what_its_branches_read(sign: int) -> None:
    model, x = Branches(), X * sign
    trace = tl.trace(model, x)
    found = edges(trace)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul", "mul", "sum", "gt", "cond", "add"]
    assert sorted(found.pop("cond.1")) == ["gt.1", "input.1", "mul.1", "mul.2"]
    assert found["add.1"] == ["cond.1"]
    op = trace["cond_1_5:1"]
    assert (op.transform_kind, op.call.kernel) == ("cond", "higher_order::cond")
    assert set(op.params) == {"linear.weight", "linear.bias"}
    expected = model.linear(x) + x * 2 if sign > 0 else x - x * 3
    assert torch.allclose(op.out, expected)
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "provenance_complete")
    (row,) = trace.annotations["capture_advisories"]
    assert (row["kind"], row["count"], row["first_location"]) == ("higher_order_boundary", 1, "cond")


@pytest.mark.parametrize("sign", [1, -1])
def test_cond_validates_with_both_branches_and_its_gradients(sign: int) -> None:
    status = tl.validation(Branches(), X * sign)
    assert status.passed, status.failure
    assert status.exempted_parent_count == 0
    assert status.conditional_reason_counts  # what only the other branch reads
    if torch.is_grad_enabled():
        assert tl.validate(Branches(), (X * sign).requires_grad_(), scope="backward")


def test_parent_that_no_branch_reads_is_found_out() -> None:
    class Ignores(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 0, lambda x, y: x * 2 + y * 0, lambda x, y: x - 1 + y * 0, (x, x * 3))

    with pytest.warns(tl.TorchLensWarning, match="perturbation at cond"):
        assert not tl.validate(Ignores(), X)


@pytest.mark.parametrize(
    "options",
    [tl.CaptureOptions(completeness_witness=True), tl.CaptureOptions(aten_ops="values")],
    ids=["witness", "rows"],
)
def test_cond_under_a_census(options: tl.CaptureOptions) -> None:
    trace = tl.trace(Branches(), X, capture=options)
    assert trace.gaps == ()
    assert trace.capture_verified
    assert trace["cond_1_5:1"].func_name == "cond"


FIRST = """
import sys, torch, tl_torch as tl
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
assert "torch._dynamo" not in sys.modules
trace = tl.trace(Model(), torch.ones(2))
print([op.func_name for op in trace.ops], trace.outputs[0].out.tolist(), trace.capture_verified)
"""


def test_cond_as_the_first_thing_that_is_ever_compiled() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIRST], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['input', 'sum', 'gt', 'cond', 'output'] [2.0, 2.0] True", done.stderr


@newer
def test_operator_that_the_user_keeps_from_the_compiler() -> None:
    with torch.compiler.set_stance("force_eager"):
        trace = tl.trace(Branches(), X)
        with pytest.warns(tl.TorchLensWarning, match="source_provenance: A higher-order operator ran"):
            assert not tl.validate(Branches(), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "dynamo_region_not_logged")
    assert trace.gaps[0].message == (
        "A higher-order operator ran without the compiler, in 'cond': what its functions read beside their arguments is "
        "not known."
    )


@newer
def test_operator_inside_a_transform_runs_and_is_not_verified() -> None:
    def row(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    trace = run(torch.vmap(row), torch.tensor([[1.0, 2.0], [-3.0, -4.0]]))
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["vmap"]
    assert trace.outputs[0].out.tolist() == [[2, 4], [-4, -5]]
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "transform_call_route_unverified")


def test_many_calls_of_one_operator() -> None:
    def forward(x: Tensor) -> Tensor:
        for number in range(12):
            x = torch.cond(x.sum() > number, lambda x: x + 1, lambda x: x - 1, (x,))
        return x

    trace = run(forward, X)
    assert [op.func_name for op in trace.ops].count("cond") == 12
    assert torch.equal(trace.outputs[0].out, forward(X))


def test_while_loop_is_one_op_and_is_not_perturbed() -> None:
    class Loops(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            _, y = while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))
            return y + 1

    trace = tl.trace(Loops(), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["tensor", "while_loop", "while_loop", "add"]
    assert torch.equal(trace.outputs[0].out, X * 8 + 1)
    status = tl.validation(Loops(), X)
    assert status.passed, status.failure
    assert status.exempted_reason_counts["nothing_to_perturb"] == 4  # of two outputs, to the counter and to x


@newer
def test_scan_is_one_op_and_validates() -> None:
    from torch._higher_order_ops.scan import scan

    class Scans(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return scan(lambda carry, row: (carry + row, carry * row), x[0], x)[1] + 1

    trace = tl.trace(Scans(), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["getitem", "scan", "scan", "add"]
    assert torch.equal(trace.outputs[0].out, torch.stack([X[0] * X[0], 2 * X[0] * X[1]]) + 1)
    assert tl.validate(Scans(), X)


@newer
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_flex_attention_is_one_call_that_names_what_its_functions_read(compiled: bool) -> None:
    from torch.nn.attention.flex_attention import flex_attention

    function = torch.compile(flex_attention) if compiled else flex_attention

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias = nn.Parameter(torch.tensor([0.5, -0.5]))

        def forward(self, x: Tensor) -> Tensor:
            scale = x.sum()
            q = x.reshape(1, 1, 2, 2)
            return function(q, q, q, score_mod=lambda score, b, h, i, j: score * scale + self.bias[j])

    model = Attends()
    trace = tl.trace(model, X)
    op = trace["flexattention_1"].ops[0]
    assert op.transform_kind == "flex_attention"
    assert {trace[label].func_name for label in op.parents} >= {"sum", "reshape"}
    assert op.params == ("bias",)
    scores = X @ X.T / 2**0.5 * X.sum() + model.bias
    assert torch.allclose(op.out[0, 0], scores.softmax(1) @ X, atol=1e-6)
    assert trace.capture_verified
    status = tl.validation(model, X)
    assert status.passed, status.failure
    assert set(status.exempted_reason_counts) == {"block_mask"}


@newer
@pytest.mark.filterwarnings("ignore:_compile flag on create_block_mask:DeprecationWarning")
def test_block_mask_that_is_made_by_the_compiler_is_made_by_its_source() -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    class Masks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 128, 128, device="cpu", _compile=True)
            return x + mask.kv_num_blocks.sum()

    trace = tl.trace(Masks(), X)
    assert "vmap" in [op.func_name for op in trace.ops]
    assert "higher_order" not in [op.func_name for op in trace.ops]
    assert torch.equal(trace.outputs[0].out, X + 1)
    assert trace.capture_verified


@newer
def test_operator_in_an_exported_program() -> None:
    program = torch.export.export(Branches(), (X,)).module()
    trace = tl.trace(program, X)
    (op,) = [op for op in trace.ops if op.func_name == "cond"]
    assert (op.transform_kind, op.call.kernel) == ("cond", "higher_order::cond")
    assert torch.equal(trace.outputs[0].out, program(X))
    assert trace.capture_verified
    assert tl.validate(program, X)
