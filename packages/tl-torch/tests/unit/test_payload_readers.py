"""What a reader of `op.out` does with the value is not what the trace gives next."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graphs import Network, named, run
from torch import Tensor

import tl_torch as tl


def by_method(out: Tensor) -> None:
    out.mul_(0)


def by_item(out: Tensor) -> None:
    out[0] = 9


def by_view(out: Tensor) -> None:
    out.view(2, 2)[1].zero_()


def by_data(out: Tensor) -> None:
    out.data.fill_(-1)


def by_numpy(out: Tensor) -> None:
    out.detach().numpy()[:] = 9


def by_dlpack(out: Tensor) -> None:
    np.from_dlpack(out.detach())
    torch.from_dlpack(out.detach()).zero_()


def by_storage(out: Tensor) -> None:
    out.untyped_storage().fill_(1)


def by_resize(out: Tensor) -> None:
    out.detach().resize_(1)


WRITES = [by_method, by_item, by_view, by_data, by_numpy, by_dlpack, by_storage, by_resize]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("kind", ["mul", "input", "output", "constant", "buffer"])
def test_what_a_reader_writes_is_not_in_the_trace(write, kind) -> None:
    scale = torch.full((4,), 2.0)
    network = Network(lambda x: x * scale + network.shift)
    network.register_buffer("shift", torch.zeros(4))
    with torch.no_grad():
        ops = named(tl.trace(network, torch.arange(4.0)))
    op = ops[f"{kind}.1"]
    before = op.out.tolist()
    write(op.out)
    assert op.out.tolist() == before
    assert op.payload.materialize_out().tolist() == before
    write(op.payload.materialize_out())
    assert op.out.tolist() == before
    assert (scale.tolist(), network.shift.tolist()) == ([2.0] * 4, [0.0] * 4)


def test_all_ways_to_the_value_give_the_readers_own() -> None:
    trace = tl.trace(torch.nn.Sequential(torch.nn.ReLU()), torch.arange(4.0))
    for reach in (
        lambda: trace["relu_1"].out,
        lambda: trace["0"].out,
        lambda: trace["0:1"].out,
        lambda: trace["relu_1"].payload.materialize_out(),
    ):
        reach().zero_()
        assert reach().tolist() == [0, 1, 2, 3]


def test_a_value_is_lent_with_its_graph_and_without_one() -> None:
    x = torch.arange(4.0, requires_grad=True)
    trace = run(lambda x: x * 3, x)
    with torch.no_grad():
        out = named(trace)["mul.1"].out
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert gradient.tolist() == [3, 3, 3, 3]
    lone = run(lambda x: x * 3, torch.arange(4.0))
    assert not named(lone)["mul.1"].out.requires_grad


def test_a_value_of_inference_mode_is_lent_too() -> None:
    with torch.inference_mode():
        trace = run(lambda x: x * 3, torch.arange(4.0))
    named(trace)["mul.1"].out.zero_()
    assert named(trace)["mul.1"].out.tolist() == [0, 3, 6, 9]


def test_reading_a_value_inside_another_run_is_no_op_of_it() -> None:
    first = run(lambda x: x * 3, torch.arange(4.0))
    second = run(lambda x: x + first["mul_1"].out, torch.arange(4.0))
    assert [op.func_name for op in second.ops] == ["input", "constant", "add", "output"]
    assert named(second)["add.1"].out.tolist() == [0, 4, 8, 12]


def test_validation_still_holds_after_a_reader_wrote() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    x = torch.ones(2, 4)
    trace = tl.trace(model, x)
    for op in trace.ops:
        op.out.detach().mul_(0)
    assert trace.validate_forward_pass([model(x)]) is True


def test_a_bundle_that_was_loaded_whole_lends_as_well(tmp_path) -> None:
    run(lambda x: x * 3, torch.arange(4.0)).save(tmp_path / "a.tlspec")
    loaded = tl.load(tmp_path / "a.tlspec", lazy=False)
    named(loaded)["mul.1"].out.zero_()
    assert named(loaded)["mul.1"].out.tolist() == [0, 3, 6, 9]


def test_the_other_modes_hand_out_the_models_own_memory() -> None:
    held: list[Tensor] = []

    def forward(x: Tensor) -> Tensor:
        held.append(x * 2)
        return held[-1] + 1

    for mode in ("view", "reference"):
        trace = run(forward, torch.arange(4.0), save_mode=mode)
        assert named(trace)["mul.1"].out.data_ptr() == held[-1].data_ptr()


def test_a_value_of_an_operator_is_the_readers_own() -> None:
    trace = run(lambda x: x * 3, torch.arange(4.0), capture=tl.CaptureOptions(aten_ops="values"))
    row = next(row for row in trace.aten_ops if row.operator == "mul")
    row.out.zero_()
    assert row.out.tolist() == [0, 3, 6, 9]


def test_a_gradient_with_respect_to_an_activation_needs_the_tensor_itself() -> None:
    def forward(x: Tensor) -> Tensor:
        return ((x * 2) ** 2).sum()

    x = torch.arange(3.0, requires_grad=True)
    copied = run(forward, x)
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(copied.outputs[0].out, named(copied)["mul.1"].out)
    held = run(forward, x, save_mode="reference")
    (gradient,) = torch.autograd.grad(held.outputs[0].out, named(held)["mul.1"].out)
    assert gradient.tolist() == [0, 4, 8]  # 2 y, where y = 2 x
