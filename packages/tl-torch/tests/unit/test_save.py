"""Which ops keep a value: `save=` in all its forms."""

from __future__ import annotations

import warnings

import pytest
import torch
from graphs import named
from torch import Tensor, nn

import tl_core
import tl_torch as tl

X = torch.randn(2, 4)


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))


def kept(trace: object) -> set[str]:
    return {name for name, op in named(trace).items() if op.out is not None}


def saved(save: object, **options: object) -> set[str]:
    return kept(tl.trace(network(), X, save=save, **options))


def test_all_is_the_default() -> None:
    everything = {"input.1", "linear.1", "relu.1", "linear.2", "relu.2", "output.1"}
    assert saved("all") == everything
    assert kept(tl.trace(network(), X)) == everything


def test_none_keeps_no_value_and_all_facts() -> None:
    trace = tl.trace(network(), X, save="none")
    assert kept(trace) == set()
    op = named(trace)["linear.2"]
    assert (op.shape, op.dtype, op.params) == ((2, 4), "float32", ("2.0.weight", "2.0.bias"))
    assert not op.payload.saved
    assert op.payload.location == "none"
    assert op.out is None


def test_by_function() -> None:
    assert saved(tl.func("relu")) - {"output.1"} == {"relu.1", "relu.2"}


def test_by_module_output() -> None:
    assert saved(tl.module("2.0")) - {"output.1"} == {"linear.2"}


def test_output_of_a_container_module() -> None:
    assert saved(tl.module("2")) - {"output.1"} == {"relu.2"}


def test_by_place_in_a_module() -> None:
    assert saved(tl.in_module("2")) - {"output.1"} == {"linear.2", "relu.2"}


def test_combinations() -> None:
    assert saved(tl.func("linear") & tl.in_module("2")) - {"output.1"} == {"linear.2"}
    assert saved(tl.func("relu") | tl.module("0")) - {"output.1"} == {"linear.1", "relu.1", "relu.2"}
    assert saved(tl.in_module("") & ~tl.func("relu")) - {"output.1", "input.1"} == {
        "linear.1",
        "linear.2",
    }


def test_a_list_is_any_of_its_members() -> None:
    assert saved([tl.func("relu"), tl.module("0")]) - {"output.1"} == {"linear.1", "relu.1", "relu.2"}


def test_a_predicate() -> None:
    seen: list[str] = []

    def wanted(op: object) -> bool:
        seen.append(op.func_name)
        return op.func_name == "linear" and op.shape == (2, 4)

    assert saved(wanted) == {"linear.1", "linear.2"}
    assert {"linear", "relu"} <= set(seen)
    assert saved(tl.where(lambda op: op.dtype == "float32" and op.func_name == "relu")) == {
        "relu.1",
        "relu.2",
    }


def test_a_predicate_that_answers_nothing_keeps_nothing() -> None:
    trace = quietly(lambda: tl.trace(network(), X, save=lambda op: None))
    assert kept(trace) == set()


def quietly(call: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl_core.TorchLensWarning)
        return call()


def test_a_predicate_that_answers_something_else_is_told() -> None:
    with pytest.raises(tl_core.TorchLensError) as caught:
        tl.trace(network(), X, save=lambda op: "yes")
    assert caught.value.code == "predicate_return_invalid"


def test_a_selector_that_matches_nothing_warns() -> None:
    with pytest.warns(tl_core.TorchLensWarning, match="gelu") as caught:
        trace = tl.trace(network(), X, save=tl.func("gelu"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert kept(trace) == set()


def test_labels_of_an_earlier_trace() -> None:
    earlier = tl.trace(network(), X)
    label = named(earlier)["relu.1"].label
    assert saved(label, like=earlier) - {"output.1"} == {"relu.1"}
    assert saved(tl.label(label), like=earlier) - {"output.1"} == {"relu.1"}
    assert saved([label, named(earlier)["linear.2"].layer_label], like=earlier) - {"output.1"} == {
        "relu.1",
        "linear.2",
    }
    assert saved(tl.label_contains("linear"), like=earlier) - {"output.1"} == {"linear.1", "linear.2"}


def test_pass_of_an_earlier_trace() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(3):
                x = self.step(x)
            return x

    model = Loop()
    earlier = tl.trace(model, X)
    label = named(earlier)["linear.2"].label
    assert label.endswith(":2")
    assert kept(tl.trace(model, X, save=label, like=earlier)) - {"output.1"} == {"linear.2"}
    layer = named(earlier)["linear.2"].layer_label
    assert kept(tl.trace(model, X, save=layer, like=earlier)) - {"output.1"} == {
        "linear.1",
        "linear.2",
        "linear.3",
    }


def test_run_that_parts_from_the_earlier_trace() -> None:
    earlier = tl.trace(network(), X)
    label = named(earlier)["relu.2"].label
    other = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    with pytest.raises(tl_core.DivergenceError) as caught:
        tl.trace(other, X, save=label, like=earlier)
    assert label in str(caught.value)


def test_run_with_another_shape_parts_from_the_earlier_trace() -> None:
    earlier = tl.trace(network(), X)
    label = named(earlier)["relu.2"].label
    with pytest.raises(tl_core.DivergenceError):
        tl.trace(network(), torch.randn(3, 4), save=label, like=earlier)


def test_earlier_trace_does_not_have_to_hold_values() -> None:
    earlier = tl.trace(network(), X, save="none")
    label = named(earlier)["relu.1"].label
    assert saved(label, like=earlier) - {"output.1"} == {"relu.1"}


def refusal(save: object, **options: object) -> tl_core.TorchLensError:
    model = network()
    calls: list[int] = []
    model.register_forward_pre_hook(lambda module, args: calls.append(1))
    with pytest.raises(tl_core.TorchLensError) as caught:
        tl.trace(model, X, save=save, **options)
    assert calls == [], "refused before the model ran"
    assert caught.value.remedy
    return caught.value


def test_a_label_without_the_earlier_trace_is_refused() -> None:
    for save in ("relu_1_2", tl.label("relu_1_2"), ["relu_1_2"], tl.label_contains("relu")):
        error = refusal(save)
        assert "like=" in error.remedy


def test_an_unknown_label_is_refused_with_the_closest_ones() -> None:
    earlier = tl.trace(network(), X)
    error = refusal("relu_1_3", like=earlier)
    assert isinstance(error, ValueError)
    assert "relu_1_2" in str(error)


@pytest.mark.parametrize("save", [3, 2.5, object(), {"relu": True}, [3], [None]])
def test_other_things_are_refused(save: object) -> None:
    error = refusal(save)
    assert isinstance(error, (TypeError, ValueError))
    assert error.code == "save_invalid"


def test_like_without_a_trace_is_refused() -> None:
    assert isinstance(refusal("all", like="earlier"), TypeError)


def test_module_that_does_not_exist_warns_or_refuses() -> None:
    with pytest.warns(tl_core.TorchLensWarning, match="layer9"):
        trace = tl.trace(network(), X, save=tl.module("layer9"))
    assert kept(trace) == set()
