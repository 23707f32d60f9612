"""`CaptureOptions(aten_ops=...)`: every operator that was dispatched, tied to the op that it was part of."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F
from graphs import run
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from pathlib import Path

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
ROWS = tl.CaptureOptions(aten_ops=True)
VALUES = tl.CaptureOptions(aten_ops="values")


def names(rows: tuple[tl.AtenOp, ...]) -> list[str]:
    return [f"{row.namespace}::{row.operator}.{row.overload}" for row in rows]


def test_default_trace_refuses_instead_of_answering_with_nothing() -> None:
    trace = tl.trace(nn.Linear(2, 2), X)
    assert trace.has_aten_ops is False
    for question in (lambda: trace.aten_ops, lambda: trace.aten_gaps, lambda: trace.ops[0].aten_ops):
        with pytest.raises(tl.AtenOpsUnavailableError, match="has no ATen profile") as caught:
            question()
        assert caught.value.code == "aten_ops_unavailable"
        assert isinstance(caught.value, RuntimeError)
        assert "aten_ops=True" in caught.value.remedy


def test_loaded_trace_has_the_profile_that_was_saved_or_refuses(tmp_path: Path) -> None:
    for options, name in ((ROWS, "with"), (None, "without")):
        trace = tl.trace(nn.Linear(2, 2), X, capture=options)
        loaded = tl.load(trace.save(tmp_path / f"{name}.tlspec"))
        assert loaded.has_aten_ops is (options is ROWS)
        if options is ROWS:
            assert [row.label for row in loaded.aten_ops] == [row.label for row in trace.aten_ops]
        else:
            with pytest.raises(tl.AtenOpsUnavailableError):
                loaded.aten_ops  # noqa: B018 - reading is what refuses


def test_linear_of_a_batch_of_sequences_owns_its_four_dispatches() -> None:
    model = nn.Linear(4, 3)
    trace = tl.trace(model, torch.ones(2, 5, 4), capture=ROWS)
    op = trace["linear_1_1:1"]
    *first, last = names(op.aten_ops)
    assert first == ["aten::view.default", "aten::t.default", "aten::addmm.default"]
    assert last in {"aten::_unsafe_view.default", "aten::view.default"}  # the latter before torch 2.5
    assert {row.owner_func_call_id for row in op.aten_ops} == {op.func_call_id}
    assert [row.decomposition_slot for row in op.aten_ops] == list(range(len(op.aten_ops)))
    assert trace.aten_ops == op.aten_ops
    assert trace.aten_gaps == ()


def test_rows_are_what_torch_says_it_dispatches() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Notes(TorchDispatchMode):
        def __torch_dispatch__(self, func: object, types: object, args: object = (), kwargs: object = None) -> object:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).eval()
    image = torch.randn(1, 1, 4, 4)
    with Notes():
        model(image)
    trace = tl.trace(model, image, capture=ROWS)
    assert [f"{row.namespace}.{row.operator}.{row.overload}" for row in trace.aten_ops] == seen
    assert all(row.owner_status == "op" for row in trace.aten_ops)


def test_facts_of_a_row() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            y = self.inner(x)
            return y.add_(1)

    trace = tl.trace(Adds(), X, capture=ROWS)
    relu, add = trace.aten_ops
    assert (relu.operator, relu.mutation_kind, relu.is_view, relu.outcome) == ("relu", "none", False, "returned")
    assert relu.module_call_stack == ("inner:1",)
    assert [(facts.shape, facts.dtype, facts.device) for facts in relu.input_tensor_facts] == [
        ((2, 2), "float32", "cpu")
    ]
    assert (add.operator, add.overload, add.mutation_kind) == ("add_", "Tensor", "in_place")
    assert add.schema.startswith("aten::add_.Tensor(Tensor(a!) self")
    assert add.label == "aten::add_.Tensor#1"
    assert [row.sequence for row in trace.aten_ops] == [0, 1]


def test_views_out_and_reads() -> None:
    def forward(x: Tensor) -> Tensor:
        y = torch.empty(2, 2)
        torch.mul(x, 2, out=y)
        assert y.sum() != 0
        return y[0]

    trace = run(forward, X, capture=ROWS)
    rows = {row.operator: row for row in trace.aten_ops}
    assert rows["mul"].mutation_kind == "out"
    assert rows["select"].is_view is True
    read = rows["_local_scalar_dense"]
    assert (read.owner_status, read.owner_func_call_id) == ("read", None)


def test_composite_opened_by_capture_gives_each_op_its_own_rows() -> None:
    def forward(x: Tensor) -> Tensor:
        return F.gumbel_softmax(x, hard=True)

    trace = run(forward, X, capture=ROWS)
    assert all(row.owner_status == "op" for row in trace.aten_ops)
    assert sum(len(op.aten_ops) for op in trace.ops if op.output_index == 0) == len(trace.aten_ops)


def test_values_are_detached_and_equal_to_those_of_the_op() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    trace = tl.trace(model, X.clone().requires_grad_(), capture=VALUES)
    for op in trace.ops:
        if op.kind == "op":
            last = op.aten_ops[-1]
            assert torch.equal(last.out, op.out)
            assert last.out.requires_grad is False
    without = tl.trace(model, X, capture=ROWS)
    assert all(row.out is None for row in without.aten_ops)


def test_values_survive_a_later_write() -> None:
    trace = run(lambda x: (x * 2).add_(5), X, capture=VALUES)
    first, second = trace.aten_ops
    assert torch.equal(first.out, X * 2)
    assert torch.equal(second.out, X * 2 + 5)


def test_validation_holds_the_values_of_the_profile_against_those_of_the_ops() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Softmax(dim=1))
    trace = tl.trace(model.eval(), X, capture=VALUES)
    assert trace.validate_forward_pass([model(X)]) is True
    last = trace["linear_1_1:1"].aten_ops[-1]
    last.payload = last.out + 1
    with pytest.warns(tl.TorchLensWarning, match=r"aten_values_consistent at linear_1_1:1 .*aten::addmm\.default#"):
        assert trace.validate_forward_pass([]) is False
    failure = tl.last_validation_failure()
    assert (failure.check, failure.op_label) == ("aten_values_consistent", "linear_1_1:1")
    assert failure.max_abs_diff == pytest.approx(1.0, rel=1e-4)


def test_values_of_a_run_that_keeps_the_models_own_tensors_cannot_be_compared() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        y.add_(1)
        return y

    trace = run(forward, X, capture=VALUES, save_mode="reference")
    with pytest.raises(tl.MutatedReferenceError):
        trace.validate_forward_pass([])


def test_operator_that_raises_is_a_row() -> None:
    def forward(x: Tensor) -> Tensor:
        with contextlib.suppress(RuntimeError):
            torch.mm(x, torch.ones(3, 3))
        return x + 1

    trace = run(forward, X, capture=ROWS)
    (row,) = [row for row in trace.aten_ops if row.outcome == "raised"]
    assert (row.operator, row.exception_type, row.output_tensor_facts) == ("mm", "RuntimeError", ())
    assert trace.capture_verified


def test_profile_changes_nothing_else() -> None:
    model = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
    sequence = torch.randn(1, 3, 4)
    plain, profiled = tl.trace(model, sequence), tl.trace(model, sequence, capture=VALUES)
    assert [op.label for op in plain.ops] == [op.label for op in profiled.ops]
    assert [op.parents for op in plain.ops] == [op.parents for op in profiled.ops]
    assert torch.equal(plain[-1].out, profiled[-1].out)
