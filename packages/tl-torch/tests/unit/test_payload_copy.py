"""`save_mode="copy"` holds what an op produced, whatever is written later. These tests try to break that."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import torch
from graphs import Network, named, run
from torch import Tensor, nn

import tl_torch as tl

DOUBLED = [0.0, 2.0, 4.0, 6.0]
EVERYTHING = tl.CaptureOptions(keep_orphans=True)
"""What is overwritten at once leads nowhere; keep it all the same."""


def fresh() -> Tensor:
    return torch.arange(4.0)


def by_method(y: Tensor) -> None:
    y.add_(1)


def by_view(y: Tensor) -> None:
    y[1:3].mul_(7)


def by_older_and_newer_views(y: Tensor) -> None:
    older = y[:2]
    y.mul_(3)
    older.add_(1)
    y.view(2, 2).t()[0].zero_()


def by_data(y: Tensor) -> None:
    y.data[:2] = -1


def by_detached(y: Tensor) -> None:
    y.detach().zero_()


def by_item(y: Tensor) -> None:
    y[0] = 9


def by_out(y: Tensor) -> None:
    torch.add(y, 5, out=y)


def by_numpy(y: Tensor) -> None:
    y.numpy()[:] = 9


def by_numpy_of_a_view(y: Tensor) -> None:
    y[1:].numpy()[0] = 9


def by_array_protocol(y: Tensor) -> None:
    np.asarray(y)[1] = 9


def by_dlpack(y: Tensor) -> None:
    torch.from_dlpack(y).fill_(9)


def by_numpy_dlpack(y: Tensor) -> None:
    ctypes.memset(np.from_dlpack(y).ctypes.data, 1, 8)


def by_storage(y: Tensor) -> None:
    y.untyped_storage().fill_(7)


def by_address(y: Tensor) -> None:
    ctypes.memset(y.data_ptr(), 1, 8)


def by_set(y: Tensor) -> None:
    y.set_(torch.ones(4))


def by_storage_of_another(y: Tensor) -> None:
    torch.empty(0).set_(y.untyped_storage(), 0, (4,)).fill_(3)


def by_set_of_data(y: Tensor) -> None:
    y.data = torch.ones(4)


def by_resize(y: Tensor) -> None:
    y.resize_(2).fill_(3)


def by_foreach(y: Tensor) -> None:
    torch._foreach_mul_([y, y[:1]], 3.0)


def by_sorting(y: Tensor) -> None:
    torch.sort(y, descending=True, out=(y, torch.empty(4, dtype=torch.long)))


def by_shared_memory(y: Tensor) -> None:
    y.share_memory_()
    y.fill_(9)


def by_swap(y: Tensor) -> None:
    torch.utils.swap_tensors(y, torch.ones(4))


WRITES = [
    by_method, by_view, by_older_and_newer_views, by_data, by_detached, by_item, by_out, by_numpy, by_numpy_of_a_view,
    by_array_protocol, by_dlpack, by_numpy_dlpack, by_storage, by_address, by_set, by_storage_of_another,
    by_set_of_data, by_resize, by_foreach, by_sorting, by_shared_memory,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_writes_by_the_model(write: object) -> None:
    def forward(x: Tensor) -> None:
        write(x * 2)

    with torch.no_grad():
        trace = run(forward, fresh())
    assert named(trace)["mul.1"].out.tolist() == DOUBLED
    assert named(trace)["input.1"].out.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "write", [by_method, by_view, by_data, by_numpy, by_storage, by_out], ids=lambda write: write.__name__
)
def test_writes_in_inference_mode(write: object) -> None:
    def forward(x: Tensor) -> None:
        write(x * 2)

    with torch.inference_mode():
        trace = run(forward, fresh())
    assert named(trace)["mul.1"].out.tolist() == DOUBLED


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_writes_by_the_user_after_the_trace(write: object) -> None:
    kept: list[Tensor] = []

    def forward(x: Tensor) -> Tensor:
        kept.append(x * 2)
        return kept[0]

    with torch.no_grad():
        trace = run(forward, fresh())
        write(kept[0])
    assert named(trace)["mul.1"].out.tolist() == DOUBLED
    assert trace[-1].out.tolist() == DOUBLED


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_writes_to_the_input_after_the_trace(write: object) -> None:
    x = fresh()
    with torch.no_grad():
        trace = run(lambda x: (x[1:], x.view(2, 2), x.expand(2, 4), x.contiguous()), x)
        write(x)
    ops = named(trace)
    assert ops["input.1"].out.tolist() == [0, 1, 2, 3]
    assert ops["getitem.1"].out.tolist() == [1, 2, 3]
    assert ops["view.1"].out.tolist() == [[0, 1], [2, 3]]
    assert ops["expand.1"].out.tolist() == [[0, 1, 2, 3]] * 2
    assert ops["contiguous.1"].out.tolist() == [0, 1, 2, 3]


ALIASES = {
    "numpy": lambda base: base.numpy(),
    "numpy of a view": lambda base: base.narrow(0, 0, 4).numpy(),
    "array": np.asarray,
    "dlpack": torch.from_dlpack,
    "storage": lambda base: torch.empty(0).set_(base.untyped_storage(), 0, (4,)),
    "detached": lambda base: base.detach(),
    "data": lambda base: base.data,
    "view": lambda base: base.narrow(0, 0, 4),
}
PRODUCERS = {
    "mul_": lambda base: base.mul_(2),
    "mul": lambda base: torch.mul(base, 2, out=base),
    "view": lambda base: base.mul_(2).view(4),
    "contiguous": lambda base: base.mul_(2).contiguous(),
    "copy_": lambda base: base.copy_(fresh() * 2),
    "setitem": lambda base: base.__setitem__(slice(None), fresh() * 2) or base,
}
"""By the function whose payload is looked at."""


@pytest.mark.parametrize("when", ["during", "after"])
@pytest.mark.parametrize("function", PRODUCERS)
@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_taken_before(alias: str, function: str, when: str) -> None:
    held: list[object] = []

    def forward(x: Tensor) -> Tensor:
        base = x.clone()
        held.append(ALIASES[alias](base))
        y = PRODUCERS[function](base)
        if when == "during":
            held[0][:] = 9
        return y

    with torch.no_grad():
        trace = run(forward, fresh(), capture=EVERYTHING)
        held[0][:] = 8
    last = [op for op in trace.ops if op.func_name == function]
    assert last[0].out.tolist() == DOUBLED
    assert trace[-1].out.tolist() == ([9] * 4 if when == "during" else DOUBLED)


def test_input_that_lies_in_numpy_memory() -> None:
    array = np.arange(4, dtype=np.float32)

    def forward(x: Tensor) -> Tensor:
        y = x.mul_(2)
        z = y[1:]
        array[:] = 5
        return z + 0

    trace = run(forward, torch.from_numpy(array))
    ops = named(trace)
    assert ops["input.1"].out.tolist() == [0, 1, 2, 3]
    assert ops["mul_.1"].out.tolist() == DOUBLED
    assert ops["getitem.1"].out.tolist() == DOUBLED[1:]
    assert ops["add.1"].out.tolist() == [5, 5, 5]


def test_tensor_made_from_numpy_inside_the_forward() -> None:
    array = np.arange(4, dtype=np.float32)

    def forward(x: Tensor) -> Tensor:
        held = torch.from_numpy(array)
        y = x + held
        array[:] = 9
        return y * held

    trace = run(forward, fresh())
    source = trace[named(trace)["add.1"].parents[1]]
    assert source.out.tolist() == [0, 1, 2, 3]


def test_input_in_shared_memory() -> None:
    x = fresh().share_memory_()
    with torch.no_grad():
        trace = run(lambda x: x[1:].mul_(2), x)
        x.fill_(9)
    ops = named(trace)
    assert ops["input.1"].out.tolist() == [0, 1, 2, 3]
    assert ops["getitem.1"].out.tolist() == [1, 2, 3]
    assert ops["mul_.1"].out.tolist() == [2, 4, 6]


def test_hook_that_writes_an_output() -> None:
    model = nn.Sequential(nn.Identity(), nn.ReLU())

    def write(module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        output.data.fill_(5)

    model[1].register_forward_hook(write)
    trace = tl.trace(model, fresh())
    assert named(trace)["relu.1"].out.tolist() == [0, 1, 2, 3]


def test_chain_of_writes_keeps_every_stage() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x.clone()
        for _ in range(5):
            y[1:].add_(1)
            y.mul_(2)
        return y

    trace = run(forward, torch.zeros(2))
    stages = [op.out.tolist() for op in trace.ops if op.func_name == "mul_"]
    assert stages == [[0, 2], [0, 6], [0, 14], [0, 30], [0, 62]]


def test_editing_a_payload_touches_nothing_else() -> None:
    linear = nn.Linear(2, 2)
    weight = linear.weight.detach().clone()
    x = torch.ones(1, 2)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = linear
            self.register_buffer("shift", torch.zeros(2))

        def forward(self, x: Tensor) -> Tensor:
            view = x[:, :1]
            return x @ self.linear.weight.t() + self.shift + view

    with torch.no_grad():
        trace = tl.trace(Model(), x)
        for op in trace.ops:
            op.out.fill_(77)
    assert torch.equal(linear.weight, weight)
    assert x.tolist() == [[1, 1]]


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.5, momentum=0.9, foreach=False),
    "foreach sgd": lambda parameters: torch.optim.SGD(parameters, 0.5, momentum=0.9, foreach=True),
    "fused sgd": lambda parameters: torch.optim.SGD(parameters, 0.5, fused=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, 0.5, foreach=False),
    "foreach adam": lambda parameters: torch.optim.Adam(parameters, 0.5, foreach=True),
    "fused adam": lambda parameters: torch.optim.Adam(parameters, 0.5, fused=True),
}


class Trained(nn.Module):
    """Hands out views of its parameters and buffers beside its result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.linear.weight[1:]
        turned = self.linear.weight.t()
        wide = self.linear.bias.expand(4, 3)
        mean = self.norm.running_mean.view(1, 3)
        y = self.norm(self.linear(x) + wide)
        return y.sum() + rows.sum() + turned.sum() + mean.sum()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_after_the_trace(optimizer: str) -> None:
    model = Trained().train()
    x = torch.randn(4, 3)
    step = OPTIMIZERS[optimizer](model.parameters())
    trace = tl.trace(model, x)
    before = {op.label: op.out.detach().clone() for op in trace.ops}
    weight = model.linear.weight.detach().clone()
    for _ in range(3):
        step.zero_grad()
        model(x).backward()
        step.step()
    assert not torch.equal(model.linear.weight, weight)
    for op in trace.ops:
        assert torch.equal(op.out, before[op.label]), op.label
    ops = named(trace)
    assert torch.equal(ops["getitem.1"].out, weight[1:])
    assert torch.equal(ops["t.1"].out, weight.t())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_step_inside_the_forward(optimizer: str) -> None:
    model = nn.Linear(3, 1)
    step = OPTIMIZERS[optimizer](model.parameters())

    class Learns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = model

        def forward(self, x: Tensor) -> Tensor:
            turned = self.linear.weight.t()
            with torch.enable_grad():
                self.linear(x).sum().backward()
            step.step()
            return turned + 0

    weight = model.weight.detach().clone()
    trace = tl.trace(Learns(), torch.ones(2, 3), capture=EVERYTHING)
    assert torch.equal(named(trace)["t.1"].out, weight.t())
    assert not torch.equal(model.weight.detach(), weight)


def test_norm_statistics_before_and_after() -> None:
    norm = nn.BatchNorm1d(2).train()

    class Looks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Tensor) -> Tensor:
            before = self.norm.running_mean.view(-1)
            self.norm(x)
            return before + self.norm.running_mean

    x = torch.tensor([[0.0, 10.0], [2.0, 30.0]])
    trace = tl.trace(Looks(), x, capture=EVERYTHING)
    buffers = [op for op in trace.ops if op.address == "norm.running_mean"]
    assert [[round(v, 4) for v in op.out.tolist()] for op in buffers] == [[0, 0], [0.1, 2.0]]
    assert named(trace)["view.1"].out.tolist() == [0, 0]


def test_payload_is_the_same_every_time_it_is_read() -> None:
    trace = run(lambda x: x * 2, fresh())
    op = named(trace)["mul.1"]
    assert op.payload.saved
    assert op.out.tolist() == op.out.tolist() == [0, 2, 4, 6]
    assert torch.equal(op.payload.materialize_out(), op.out)


def test_copies_and_the_model_give_the_same_result() -> None:
    model = Network(lambda x: (x * 2).add_(1))
    assert torch.equal(tl.trace(model, fresh())[-1].out, model(fresh()))
