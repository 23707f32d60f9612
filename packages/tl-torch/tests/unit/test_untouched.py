"""After a trace the model, torch and the generators are what one plain forward leaves."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch
from leftovers import ModelState
from torch import Tensor, nn

import tl_torch as tl


class Everything(nn.Module):
    """Dropout, statistics, buffers, attributes, hooks, shared parts, random numbers of three kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.again = self.linear
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.4)
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("scratch", torch.ones(4), persistent=False)
        self.notes = {"list": [1, 2], "tensor": torch.ones(4)}
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.count += 1
        noise = torch.randn(4) + random.random() + float(np.random.default_rng(1).random())
        y = self.drop(self.norm(self.again(self.linear(x + noise * self.notes["tensor"]))))
        self.scratch = y.detach().mean(0)
        return y


def pair() -> tuple[Everything, Everything]:
    torch.manual_seed(4)
    model = Everything()
    model.linear.register_forward_hook(lambda module, args, output: output + 1)
    model.register_forward_pre_hook(lambda module, args: None)
    return model, copy.deepcopy(model)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("save", ["all", "none"])
@pytest.mark.parametrize("mode", ["copy", "reference", "view"])
def test_after_success(training: bool, save: str, mode: str) -> None:
    plain, traced = pair()
    x = torch.randn(3, 4)
    kept = x.clone()
    torch.manual_seed(9)
    random.seed(9)
    expected = plain.train(training)(x)
    generator, numbers = torch.get_rng_state(), random.getstate()

    traced.train(training)
    attributes = ModelState.of(traced)
    torch.manual_seed(9)
    random.seed(9)
    trace = tl.trace(traced, x, save=save, save_mode=mode)
    assert torch.equal(torch.get_rng_state(), generator)
    assert random.getstate() == numbers
    assert torch.equal(x, kept)
    if save == "all":
        assert torch.equal(trace[-1].out, expected)

    changed = {change.split(":")[0] for change in ModelState.of(traced).differences(attributes)}
    statistics = {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    own = {".calls", "._buffers.scratch", "count"}
    assert changed <= own | (statistics if training else set())
    for (name, value), other in zip(traced.state_dict().items(), plain.state_dict().values(), strict=True):
        assert torch.equal(value, other), name
    assert torch.equal(traced.scratch, plain.scratch)
    assert traced.calls == plain.calls == 1
    assert {name: module.training for name, module in traced.named_modules()} == {
        name: module.training for name, module in plain.named_modules()
    }


def test_only_one_forward_runs() -> None:
    _, model = pair()
    tl.trace(model, torch.randn(3, 4))
    assert model.calls == 1


def test_tensors_of_the_user_carry_nothing_extra() -> None:
    x = torch.randn(3, 4)
    held: list[Tensor] = []

    class Keeps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            held.append(x * 2)
            return held[0]

    tl.trace(Keeps(), x)
    for tensor in (x, held[0]):
        assert vars(tensor) == {}
        assert type(tensor) is Tensor


def test_the_model_can_be_pickled_and_copied_afterwards() -> None:
    import pickle

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    tl.trace(model, torch.randn(1, 4))
    loaded = pickle.loads(pickle.dumps(model))
    assert torch.equal(copy.deepcopy(model)[0].weight, loaded[0].weight)


def test_training_goes_on_after_a_trace() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.ones(2, 4)
    losses = []
    for _ in range(3):
        tl.trace(model, x)
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]


def test_gradients_are_those_of_a_plain_forward() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.randn(2, 4)
    model(x).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    tl.trace(model, x)[-1].out.sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(parameter.grad, gradient)


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_compiled_model_still_runs_compiled() -> None:
    model = nn.Linear(4, 2)
    compiled = torch.compile(model, backend="eager")
    x = torch.ones(1, 4)
    expected = compiled(x)
    tl.trace(compiled, x)
    assert torch.equal(compiled(x), expected)
    assert compiled._orig_mod is model
