"""`completeness_witness=True`: every dispatch has an owner, or the capture is not verified."""

from __future__ import annotations

import os

import numpy
import pytest
import torch
import torch.utils.checkpoint
from graphs import edges, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
WITNESS = tl.CaptureOptions(completeness_witness=True)


class Autograd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.sin() * 2

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        return gradient


def lstm(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    return nn.LSTM(2, 3, batch_first=True)(x.unsqueeze(0))[0]


FORWARDS = {
    "arithmetic": lambda x: (x * 2 + 1).relu(),
    "in place": lambda x: (x * 2).add_(1).mul_(3),
    "views": lambda x: x.t()[0].view(1, 2),
    "setitem": lambda x: (y := x.clone()).__setitem__(0, 5) or y,
    "out": lambda x: torch.add(x, 1, out=torch.empty(2, 2)),
    "composite": lambda x: nn.functional.gumbel_softmax(x),
    "recurrent": lstm,
    "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(torch.tanh, x, use_reentrant=False),
    "autograd function": Autograd.apply,
    "operator": lambda x: torch.ops.aten.tanh(x),
    "transform": torch.vmap(lambda row: row * 2),
    "gradient": lambda x: torch.autograd.grad((y := x.detach().requires_grad_()).pow(2).sum(), y)[0],
    "printed": lambda x: (str(x), x + 1)[1],
    "parameter": lambda x: nn.Parameter(x * 2) + x,
    "attention": lambda x: nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("name", FORWARDS)
def test_seen_work_is_verified_by_the_witness(name: str) -> None:
    trace = run(FORWARDS[name], X, capture=WITNESS)
    assert trace.gaps == ()
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "dispatch_witness_verified")
    assert trace.has_aten_ops is False


@pytest.mark.parametrize("name", FORWARDS)
def test_witness_changes_no_op_and_no_edge(name: str) -> None:
    graphs = []
    for options in (None, WITNESS):
        torch.manual_seed(3)
        graphs.append(edges(run(FORWARDS[name], X, capture=options)))
    assert graphs[0] == graphs[1]


def hidden(x: Tensor) -> Tensor:
    y = x * 2
    with torch._C.DisableTorchFunction():
        z = torch.tanh(torch.sin(y))
    assert z.shape == y.shape
    return y + 1


def test_work_that_no_op_owns_is_counted_named_and_located() -> None:
    with pytest.warns(tl.TorchLensWarning, match="2 of 4 dispatches") as caught:
        trace = run(hidden, X, capture=WITNESS)
    assert caught[0].message.code == "unaccounted_dispatch"
    assert caught[0].filename.endswith("graphs.py")
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unaccounted_dispatch")
    (gap,) = trace.gaps
    assert "aten.sin.default, aten.tanh.default" in gap.message
    assert gap.frames[0][0].co_name == "hidden"


def test_unowned_work_stands_in_the_profile() -> None:
    with pytest.warns(tl.TorchLensWarning):
        trace = run(hidden, X, capture=tl.CaptureOptions(aten_ops=True))
    assert [(row.operator, row.owner_func_call_id) for row in trace.aten_gaps] == [("sin", None), ("tanh", None)]


def test_without_a_witness_the_same_run_has_only_provenance_to_go_by() -> None:
    trace = run(hidden, X)
    assert trace.capture_verification_reason == "provenance_complete"  # nothing unseen reaches the graph


def test_the_mode_is_gone_after_an_error() -> None:
    def forward(x: Tensor) -> Tensor:
        raise ValueError(x.sum())

    with pytest.raises(ValueError, match="tensor"):
        run(forward, X, capture=WITNESS)
    assert torch._C._len_torch_dispatch_stack() == 0


def test_users_mode_and_the_witness_together() -> None:
    from torch.overrides import TorchFunctionMode

    seen: list[str] = []

    class Notes(TorchFunctionMode):
        def __torch_function__(self, func: object, types: object, args: object = (), kwargs: object = None) -> object:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Notes():
        trace = run(lambda x: (x * 2).relu(), X, capture=WITNESS)
    assert trace.capture_verification_reason == "dispatch_witness_verified"
    assert seen[-2:] == ["mul", "relu"]


def test_operators_of_work_that_no_seam_shows_do_not_become_ops() -> None:
    def forward(x: Tensor) -> Tensor:
        return x + torch.from_numpy(numpy.ones((2, 2), numpy.float32))

    plain, witnessed = run(forward, X), run(forward, X, capture=WITNESS)
    assert [op.func_name for op in plain.ops] == ["input", "constant", "add", "output"]
    assert [op.label for op in witnessed.ops] == [op.label for op in plain.ops]
    assert witnessed.capture_verification_reason == "unseen_source"


def test_unseen_work_in_a_module_of_torch_is_no_work_of_ours() -> None:
    source = (
        "def forward(self, x):\n"
        "    y = x * 2\n"
        "    with torch._C.DisableTorchFunction():\n"
        "        torch.tanh(x)\n"
        "    return y\n"
    )
    within = os.path.join(os.path.dirname(torch.__file__), "nn", "made_up.py")
    namespace = {"torch": torch}
    exec(compile(source, within, "exec"), namespace)
    kind = type("MadeUp", (nn.Module,), {"forward": namespace["forward"]})
    with pytest.warns(tl.TorchLensWarning, match=r"1 of 2 dispatches.*aten\.tanh"):
        trace = tl.trace(kind(), X, capture=WITNESS)
    assert trace.capture_verification_reason == "unaccounted_dispatch"
