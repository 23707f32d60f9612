"""The user's own modes, subclasses and predicates: they see what they would see without a trace."""

from __future__ import annotations

import pytest
import torch
from graphs import Network, named, run
from leftovers import ModelState
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import tl_torch as tl

X = torch.ones(2, 4)


class Functions(TorchFunctionMode):
    """Notes the functions that pass."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(
        self, function: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        self.names.append(getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    """Notes the operators that pass."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, function: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


class Logged(Tensor):
    """A subclass that notes what is done with it."""

    names: list[str] = []  # noqa: RUF012 - one log for all

    @classmethod
    def __torch_function__(
        cls, function: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        cls.names.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


def model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4))


def test_function_mode_of_the_user_sees_the_models_calls_only() -> None:
    with Functions() as plain:
        model()(X)
    with Functions() as traced:
        network = model()
        start = len(traced.names)
        tl.trace(network, X)
    functions = {"linear", "relu", "batch_norm", "add_"}
    assert [n for n in traced.names[start:] if n in functions] == [
        n for n in plain.names[-len(plain.names) :] if n in functions
    ]
    assert not [n for n in traced.names[start:] if "clone" in n or n == "__get__"], "nothing of the recording itself"


def test_dispatch_mode_of_the_user_sees_the_models_operators() -> None:
    network = model()
    with Dispatches() as plain:
        model()(X)
    with Dispatches() as traced:
        tl.trace(network, X)
    extra = [name for name in traced.names if name not in plain.names]
    assert set(extra) <= {"aten._lazy_clone.default", "aten.clone.default", "aten.detach.default"}
    assert [name for name in traced.names if "addmm" in name] == ["aten.addmm.default"]


def test_subclass_of_the_user_sees_the_models_calls_only() -> None:
    def forward(x: Tensor) -> Tensor:
        return torch.tanh(x.as_subclass(Logged) * 2).as_subclass(Tensor)

    Logged.names.clear()
    forward(X)
    plain = list(Logged.names)
    Logged.names.clear()
    run(forward, X)
    assert Logged.names == plain


def test_predicate_that_raises_passes_through() -> None:
    class PredicateFault(Exception):
        pass

    def wanted(op: object) -> bool:
        if op.func_name == "relu":
            raise PredicateFault
        return True

    network = model()
    before = ModelState.of(network)
    with pytest.raises(PredicateFault):
        tl.trace(network.eval(), X, save=wanted)
    assert {c for c in ModelState.of(network).differences(before) if not c.endswith("training")} == set()


def test_predicate_sees_facts_and_never_values() -> None:
    seen: list[tuple[str, tuple[int, ...], str, bool]] = []

    def wanted(op: object) -> bool:
        seen.append((op.func_name, op.shape, op.dtype, op.requires_grad))
        return False

    with pytest.warns(tl.TorchLensWarning):
        tl.trace(nn.Linear(4, 2), X, save=wanted)
    assert ("linear", (2, 2), "float32", True) in seen


@pytest.mark.filterwarnings("ignore:Anomaly Detection:UserWarning")
def test_anomaly_detection_stays_on() -> None:
    with torch.autograd.detect_anomaly():
        trace = run(lambda x: x * 2, X.clone().requires_grad_())
        trace[-1].out.sum().backward()
    assert trace.outcome == "complete"


def test_default_dtype_of_the_user() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        trace = run(lambda x: torch.ones(2) * x.double().sum(), X)
    finally:
        torch.set_default_dtype(torch.float32)
    assert named(trace)["ones.1"].dtype == "float64"


def test_settings_that_the_model_changes_stay_changed() -> None:
    def forward(x: Tensor) -> Tensor:
        torch.set_grad_enabled(False)
        return x * 2

    try:
        tl.trace(Network(forward), X)
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
