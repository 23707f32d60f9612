"""What `tl.trace` refuses, before the model runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from graphs import edges, named
from refusals import Guarded, refused
from torch import Tensor, nn

import tl_core
import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.ones(2, 4)


def test_no_inputs() -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model), model)
    assert isinstance(error, (TypeError, ValueError))
    assert "inputs=()" in str(error)


def test_inputs_of_none() -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model, None), model)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("keyword", ["attention_mask", "halt", "x", "device"])
def test_unknown_keyword_names_input_kwargs(keyword: str) -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model, X, **{keyword: X}), model)
    assert isinstance(error, tl_core.ArgumentTypeError)
    assert isinstance(error, TypeError)
    assert keyword in str(error)
    assert "input_kwargs" in str(error)


def test_misspelt_option_names_the_right_one() -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model, X, save_mod="copy"), model)
    assert "save_mode" in str(error)


@pytest.mark.parametrize("keywords", [3, "x", [1], X, {1: X}])
def test_input_kwargs_that_are_no_mapping_of_names(keywords: object) -> None:
    model = Guarded()
    assert isinstance(refused(lambda: tl.trace(model, X, keywords), model), TypeError)


def test_arguments_that_do_not_fit_the_forward() -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model, (), {"y": X}), model)
    assert error.code == "inputs_do_not_fit"
    assert isinstance(error, TypeError)
    assert "'x'" in str(error)


def plain(x: Tensor) -> Tensor:
    return x * 2


@pytest.mark.parametrize(
    "model",
    [plain, torch.relu, lambda x: x, nn.Linear, 3, None, "resnet18", X, object()],
    ids=["function", "builtin", "lambda", "class", "int", "None", "str", "tensor", "object"],
)
def test_things_that_are_no_model(model: object) -> None:
    error = refused(lambda: tl.trace(model, X))
    assert error.code == "model_type_unsupported"
    assert isinstance(error, TypeError)
    assert "nn.Module" in str(error)


def test_bound_method_of_something_else() -> None:
    class Plain:
        def forward(self, x: Tensor) -> Tensor:
            return x

    assert refused(lambda: tl.trace(Plain().forward, X)).code == "model_type_unsupported"


@pytest.fixture
def scripted() -> nn.Module:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(nn.Linear(4, 2))


@pytest.fixture
def traced() -> nn.Module:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(nn.Linear(4, 2), X)


@pytest.mark.parametrize("kind", ["scripted", "traced"])
def test_torchscript_model(kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    error = refused(lambda: tl.trace(model, X))
    assert isinstance(error, (RuntimeError, TypeError))
    assert "TorchScript" in str(error)


def test_exported_program() -> None:
    program = torch.export.export(nn.Linear(4, 2), (X,))
    error = refused(lambda: tl.trace(program, X))
    assert error.code == "model_type_unsupported"
    assert "module()" in error.remedy
    trace = tl.trace(program.module(), X)
    assert trace[-1].shape == (2, 2)


class NeverBegun(nn.Module):
    """Its `__init__` forgets that of `nn.Module`."""

    def __init__(self) -> None:
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


@pytest.mark.parametrize("ask", [tl.trace, tl.validate])
def test_model_whose_init_forgot_that_of_modules(ask: Callable[[nn.Module, Tensor], object]) -> None:
    error = refused(lambda: ask(NeverBegun(), X))
    assert isinstance(error, tl_core.CaptureError)
    assert error.code == "module_not_initialised"
    assert str(error) == (
        "The model (NeverBegun) was not initialised: it has no parameters, buffers or hooks, not even empty ones.\n"
        "  What to do: call super().__init__() first in NeverBegun.__init__"
    )


def test_part_of_a_model_whose_init_forgot_that_of_modules() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU()))
    model[1].add_module("scale", NeverBegun())
    error = refused(lambda: tl.trace(model, X))
    assert error.code == "module_not_initialised"
    assert (error.fields["address"], error.fields["module"]) == ("1.scale", "NeverBegun")
    assert str(error).startswith("The module '1.scale' (NeverBegun) was not initialised")


def test_unknown_label_afterwards() -> None:
    trace = tl.trace(nn.Sequential(nn.Linear(4, 2), nn.ReLU()), X)
    with pytest.raises(tl_core.LookupFailedError) as caught:
        trace["linear_1_2"]
    assert caught.value.code == "op_lookup_not_found"
    assert "linear_1_1" in str(caught.value)
    assert isinstance(caught.value, LookupError)
    assert isinstance(caught.value, ValueError)


def test_key_that_is_a_label_and_an_address() -> None:
    class Ambiguous(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu_1 = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(self.relu_1(x))

    trace = tl.trace(Ambiguous(), X)
    with pytest.raises(tl_core.AmbiguousOpLookupError) as caught:
        trace["relu_1"]
    assert caught.value.code == "ambiguous_op_lookup"
    assert "modules['relu_1']" in str(caught.value)
    assert trace.modules["relu_1"].address == "relu_1"
    assert trace.layers["relu_1"].label.startswith("relu_1_")


def test_bad_pass() -> None:
    trace = tl.trace(nn.Linear(4, 2), X)
    with pytest.raises(tl_core.LookupFailedError):
        trace["linear_1_1:2"]
    with pytest.raises(LookupError):
        trace[99]
    with pytest.raises((TypeError, LookupError)):
        trace[1.5]


@pytest.mark.parametrize("capture", [3, "all", {"recurrence_detection": False}, True])
def test_capture_options_of_another_type(capture: object) -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model, X, capture=capture), model)
    assert isinstance(error, TypeError)
    assert "CaptureOptions" in str(error)


def test_capture_option_that_does_not_exist() -> None:
    with pytest.raises(TypeError):
        tl.CaptureOptions(no_such_option=True)


@pytest.mark.parametrize("name", [3, ["a"], b"x"])
def test_name_that_is_no_text(name: object) -> None:
    model = Guarded()
    assert isinstance(refused(lambda: tl.trace(model, X, name=name), model), TypeError)


def test_assignment_to_the_data_of_a_buffer() -> None:
    class Assigns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("state", torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            self.state.data = x[0]
            return x + self.state

    with pytest.raises(RuntimeError) as caught:
        tl.trace(Assigns(), X)
    assert isinstance(caught.value, tl_core.TorchLensError)
    assert "state" in str(caught.value)
    assert "copy_" in caught.value.remedy


def test_after_every_refusal_an_ordinary_trace_works() -> None:
    model = Guarded()
    refused(lambda: tl.trace(model), model)
    trace = tl.trace(model, X)
    assert edges(trace) == {"input.1": [], "linear.1": ["input.1"], "output.1": ["linear.1"]}
    assert model.runs == 1
    assert named(trace)["linear.1"].module == "part"
