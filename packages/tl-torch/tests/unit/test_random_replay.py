"""Runs that draw random numbers, and runs under autocast: what was kept of them is enough to repeat each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import tl_torch as tl
from tl_core import ArgumentTypeError, ConfigurationError, TorchLensWarning, records_of

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = tl.CaptureOptions(save_rng=True)
X = torch.arange(1.0, 7.0).reshape(2, 3)


class Runs(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def reseeded(self: Any, x: torch.Tensor) -> torch.Tensor:
    y = x + torch.rand(3)
    torch.manual_seed(7)
    return y + torch.randn(3)


def from_generators(self: Any, x: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    x = x + torch.rand(3, generator=generator)
    return x + torch.randn((3,), generator=generator) + torch.empty(3).normal_(0, 1, generator=generator)


DRAWING: dict[str, Callable[..., Any]] = {
    "dropout": lambda self, x: F.dropout(x, 0.5, True) + F.dropout(x, 0.25, True),
    "alpha_dropout": lambda self, x: F.alpha_dropout(x, 0.5, True),
    "dropout of channels": lambda self, x: F.dropout1d(x[None], 0.5, True),
    "rand": lambda self, x: x + torch.rand(3) * torch.randint(1, 9, (3,)),
    "rand_like": lambda self, x: x * torch.rand_like(x) + torch.randn_like(x),
    "bernoulli_": lambda self, x: x + torch.empty(2, 3).bernoulli_(0.5),
    "bernoulli of a probability": lambda self, x: torch.bernoulli(x / 7) + x,
    "normal_": lambda self, x: x + torch.empty(2, 3).normal_() + torch.normal(x, 1.0),
    "initialisers": lambda self, x: x + nn.init.trunc_normal_(torch.empty(2, 3)) + nn.init.normal_(torch.empty(3)),
    "gumbel_softmax": lambda self, x: F.gumbel_softmax(x, tau=0.5),
    "multinomial": lambda self, x: x[:, torch.multinomial(torch.softmax(x, 1), 2)[0]],
    "randperm": lambda self, x: x[:, torch.randperm(3)],
    "attention with dropout": lambda self, x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.5),
    "rrelu": lambda self, x: F.rrelu(-x, training=True),
    "a transform": lambda self, x: torch.vmap(lambda row: row + torch.rand(3), randomness="different")(x) + 1,
    "a new seed": reseeded,
    "generators": from_generators,
}


@pytest.mark.parametrize("name", DRAWING)
def test_a_trace_that_draws_is_proved(name: str) -> None:
    model = Runs(DRAWING[name])
    run = tl.trace(model, X.clone(), capture=RNG)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert run.validate_forward_pass([]) is True, tl.last_validation_failure()
    assert torch.equal(torch.get_rng_state(), state)
    status = run.validation_replay_status
    assert status.unverified_node_count == 0
    assert tl.validate(model, X.clone()), tl.last_validation_failure()


def test_layers_in_training_mode() -> None:
    torch.manual_seed(0)
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
    assert tl.trace(encoder, torch.randn(2, 5, 8), capture=RNG).validate_forward_pass([]) is True
    recurrent = nn.LSTM(3, 4, num_layers=2, dropout=0.5)
    assert tl.trace(recurrent, torch.randn(5, 2, 3), capture=RNG).validate_forward_pass([]) is True


def test_another_draw_is_found() -> None:
    run = tl.trace(Runs(lambda self, x: F.dropout(x, 0.5, True) + 1), X, capture=RNG)
    op = records_of(run).ops[1]
    op.payload = op.payload.flip(0)
    with pytest.warns(TorchLensWarning):
        assert run.validate_forward_pass([]) is False
    failure = tl.last_validation_failure()
    assert (failure.check, failure.op_label) == ("forward_replay", "dropout_1_1:1")


def noted(run: Any, key: str) -> dict[str, Any]:
    return {call.name: (call.meta or {}).get(key) for call in records_of(run).calls}


def test_only_calls_that_draw_keep_a_state() -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(F.dropout1d(x[None] + 1, 0.5, False)[0].relu(), 0.5, True)

    torch.manual_seed(3)
    before = torch.get_rng_state().numpy().tobytes()
    states = noted(tl.trace(Runs(forward), X, capture=RNG), "random_state")
    assert {name for name, state in states.items() if state is not None} == {"dropout"}
    assert states["dropout"] == before
    ordinary = tl.trace(Runs(forward), X)
    assert all(state is None for state in noted(ordinary, "random_state").values())
    assert not records_of(ordinary).random_noted


def test_a_generator_of_the_model_is_put_back() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generators = {"noise": torch.Generator().manual_seed(5)}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.rand(3, generator=self.generators["noise"])

    model = Model()
    before = model.generators["noise"].get_state()
    assert tl.validate(model, X), tl.last_validation_failure()
    assert torch.equal(model.generators["noise"].get_state(), before)


SHARED = torch.Generator().manual_seed(11)


def test_a_generator_in_a_closure_or_a_global_is_put_back() -> None:
    kept = torch.Generator().manual_seed(5)
    model = Runs(lambda self, x: x + torch.rand(3, generator=kept) + torch.rand(3, generator=SHARED))
    assert tl.validate(model, X), tl.last_validation_failure()


def test_gradients_of_a_run_that_draws() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    assert tl.validate(model, X.clone().requires_grad_(), scope="backward")


# ---------------------------------------------------------------- autocast


def regions(self: Any, x: torch.Tensor) -> Any:
    weight = torch.eye(3)
    plain = F.linear(x, weight)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = F.linear(x, weight)
        single = torch.prod(half, dim=1)
        with torch.autocast("cpu", enabled=False):
            off = F.linear(x, weight)
            with torch.autocast("cpu", dtype=torch.float16):
                other = F.linear(x, weight)
        again = F.linear(x, weight)
    return plain, half, single, off, other, again


def test_each_call_keeps_its_autocast() -> None:
    run = tl.trace(Runs(regions), X, capture=RNG)
    kept = [(call.name, (call.meta or {}).get("autocast")) for call in records_of(run).calls if call.name != "eye"]
    half, other = {"cpu": "bfloat16"}, {"cpu": "float16"}
    assert kept == [
        ("linear", None), ("linear", half), ("prod", half), ("linear", None), ("linear", other), ("linear", half),
    ]  # fmt: skip
    assert run["prod_1"].ops[0].dtype == "float32"


@pytest.mark.parametrize("around", [False, True])
def test_regions_of_autocast_are_repeated(around: bool) -> None:
    for options in (RNG, tl.CaptureOptions()):
        run = tl.trace(Runs(regions), X, capture=options)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=around):
            assert run.validate_forward_pass([]) is True, tl.last_validation_failure()
        assert torch.is_autocast_enabled("cpu") is False


def test_a_run_inside_autocast_is_repeated_outside() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        run = tl.trace(Runs(regions), X, capture=RNG)
        assert tl.validate(Runs(regions), X), tl.last_validation_failure()
    assert run.validate_forward_pass([]) is True, tl.last_validation_failure()


def test_gradients_through_regions_of_autocast() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                x = self.first(x)
            return self.second(x.float())

    assert tl.validate(Model(), X.clone().requires_grad_(), scope="backward"), tl.last_validation_failure()


# ---------------------------------------------------------------- how it is asked for


def test_arguments_need_all_values() -> None:
    with pytest.raises(ConfigurationError, match="leaves some of their values out") as caught:
        tl.trace(nn.Linear(3, 2), X, save="none", capture=tl.CaptureOptions(save_args=True))
    assert caught.value.code == "save_args_incomplete"
    assert 'save="all"' in caught.value.remedy


def test_an_option_of_the_capture_in_the_wrong_place() -> None:
    with pytest.raises(ArgumentTypeError, match="save_rng is an option of the capture") as caught:
        tl.trace(nn.Linear(3, 2), X, save_rng=True)
    assert caught.value.remedy == "tl.trace(..., capture=tl.CaptureOptions(save_rng=...))"


def test_parameters_are_kept_as_they_were_read() -> None:
    model = nn.Linear(3, 2)
    run = tl.trace(model, X, capture=tl.CaptureOptions(save_args=True))
    with torch.no_grad():
        model.weight.add_(1)
    assert run.validate_forward_pass([]) is True
    plain = tl.trace(model, X)
    with torch.no_grad():
        model.weight.add_(1)
    with pytest.warns(TorchLensWarning):
        assert plain.validate_forward_pass([]) is False


class UnderFakeTensors(nn.Module):
    """Works out a shape on fake tensors, as tools that plan memory do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with FakeTensorMode():
            width = (torch.empty(2, 5) @ torch.empty(5, 3)).shape[1]
        return x * width


def test_the_state_of_generators_is_read_under_a_mode_that_makes_fake_tensors() -> None:
    trace = tl.trace(UnderFakeTensors(), torch.ones(2), capture=RNG)
    assert trace.ops[-1].out.tolist() == [3.0, 3.0]
