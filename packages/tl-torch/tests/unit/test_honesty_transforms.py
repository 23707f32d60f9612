"""`torch.func` transforms: one boundary op with its kind, or a reason why the capture is not verified."""

from __future__ import annotations

import pytest
import torch
import torch._functorch.apis
import torch._functorch.eager_transforms
from graphs import edges
from torch import Tensor, nn
from torch.func import grad, jvp, vmap

import tl_torch as tl

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])


class Calls(nn.Module):
    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def ops(trace: tl.Trace) -> list[str]:
    return [op.func_name for op in trace.ops if op.kind == "op"]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch scripts its decompositions when it first needs them
@pytest.mark.parametrize(
    ("kind", "function", "expected"),
    [
        ("vmap", vmap(lambda row: row * 2 + row.sum()), lambda x: x * 2 + x.sum(1, keepdim=True)),
        ("vmap", lambda x: torch.vmap(torch.sum)(x), lambda x: x.sum(1)),
        ("grad", grad(lambda x: (x**2).sum()), lambda x: 2 * x),
        ("grad_and_value", lambda x: torch.func.grad_and_value(lambda y: (y**3).sum())(x)[0], lambda x: 3 * x**2),
        ("jvp", lambda x: jvp(lambda y: y**2, (x,), (torch.ones_like(x),))[1], lambda x: 2 * x),
    ],
    ids=["vmap held", "vmap made inside", "grad", "grad_and_value", "jvp"],
)
def test_transform_is_one_op(kind: str, function: object, expected: object) -> None:
    trace = tl.trace(Calls(function), X)
    boundary = [op for op in trace.ops if op.transform_kind == kind]
    assert {op.func_name for op in boundary} == {kind}
    assert len({op.func_call_id for op in boundary}) == 1
    assert trace.ops[0].label in boundary[0].parents
    assert torch.allclose(trace.outputs[0].out, expected(X))
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "provenance_complete")
    (row,) = trace.annotations["capture_advisories"]
    assert (row["kind"], row["count"]) == ("transform_boundary", 1)


def test_transform_of_a_transform_is_one_op() -> None:
    trace = tl.trace(Calls(vmap(vmap(lambda value: value * 3))), X)
    assert ops(trace) == ["vmap"]
    assert torch.equal(trace.outputs[0].out, X * 3)


def test_tensors_in_closures_are_parents_and_parameters_are_read() -> None:
    class Closes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            shift = x.sum() * 2
            return vmap(lambda row: self.linear(row) + shift)(x)

    model = Closes()
    trace = tl.trace(model, X)
    assert edges(trace)["vmap.1"] == ["input.1", "mul.1"]
    assert trace["vmap_1_3:1"].params == ("linear.weight", "linear.bias")
    assert tl.validate(model, X)


def test_a_run_of_a_transform_with_another_value_in_the_closure() -> None:
    def forward(x: Tensor) -> Tensor:
        shift = x.sum() * 2
        return vmap(lambda row: row + shift)(x)

    trace = tl.trace(Calls(forward), X)
    call = trace["vmap_1_3:1"].call
    assert call is not None
    assert tl.validate(Calls(forward), X)  # changes the captured parent and sees the result answer


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch scripts its decompositions when it first needs them
@pytest.mark.parametrize(
    "function",
    [
        torch.func.jacfwd(lambda x: (x**2).sum(0)),
        torch.func.jacrev(lambda x: (x**2).sum(0)),
        torch.func.hessian(lambda x: (x**3).sum()),
        lambda x: torch.func.vjp(lambda y: y**2, x)[1](torch.ones_like(x))[0],
    ],
    ids=["jacfwd", "jacrev", "hessian", "vjp"],
)
def test_compound_transforms_stay_connected_and_say_that_they_are_not_verified(function: object) -> None:
    trace = tl.trace(Calls(function), X)
    assert trace.capture_verified is False
    assert trace.capture_verification_reason == "transform_call_route_unverified"
    assert trace.outputs[0].distance.min_from_input is not None
    assert torch.allclose(trace.outputs[0].out, function(X))


def linearized(x: Tensor) -> Tensor:
    value, tangent = torch.func.linearize(lambda y: y**2, x)
    return value + tangent(torch.ones_like(x))


@pytest.mark.filterwarnings("ignore")  # what torch imports to make a graph
def test_linearize_is_not_verified() -> None:
    trace = tl.trace(Calls(linearized), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "transform_call_route_unverified")
    assert torch.allclose(trace.outputs[0].out, X**2 + 2 * X)


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        return vmap(lambda row: row * self.calls.add_(1))(x) + self.calls


def test_transform_that_writes_into_what_it_captured() -> None:
    trace = tl.trace(Counts(), X)
    assert torch.equal(trace.outputs[0].out, X + 1)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "transform_call_route_unverified")
    assert "'vmap' of torch.func wrote into a tensor of shape (2,)" in trace.gaps[0].message


SEAMS = [
    (torch._functorch.apis, "vmap_impl"),
    (torch._functorch.eager_transforms, "grad_impl"),
    (torch._functorch.eager_transforms, "grad_and_value_impl"),
    (torch._functorch.eager_transforms, "_vjp_with_argnums"),
    (torch._functorch.eager_transforms, "_jvp_with_argnums"),
]


@pytest.mark.parametrize(("module", "name"), SEAMS, ids=[name for _, name in SEAMS])
def test_functions_of_functorch_are_restored_by_identity(module: object, name: str) -> None:
    before = getattr(module, name)
    during: list[object] = []
    tl.trace(Calls(lambda x: during.append(getattr(module, name)) or x + 1), X)
    assert during[0] is not before
    assert getattr(module, name) is before
