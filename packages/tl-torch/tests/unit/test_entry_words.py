"""The entry points answer in their own words, and say what was meant."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tl_torch as tl
from tl_core import ArgumentTypeError

X = torch.ones(2, 4)


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU())


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [
        (
            lambda trace: tl.validate(trace),
            "model_type_unsupported",
            "tl.validate takes a model, and was given the finished trace 'run' of Sequential.\n"
            "  What to do: trace.validate_forward_pass([model(x)]) checks this trace; tl.validate(model, x) traces the "
            "model anew and checks that",
        ),
        (
            lambda trace: tl.trace(trace, X),
            "model_type_unsupported",
            "tl.trace takes a model, and was given the finished trace 'run' of Sequential.\n"
            "  What to do: this is the trace already: trace.summary(), trace['relu_1'].out, trace.find(...)",
        ),
        (
            lambda trace: tl.find_nan(trace),
            "model_type_unsupported",
            "tl.debug.find_nan takes a model, and was given the finished trace 'run' of Sequential.\n"
            "  What to do: trace.find_nan() looks through this trace; tl.debug.find_nan(model, x) runs the model",
        ),
        (
            lambda trace: tl.validate(model()),
            "inputs_missing",
            "tl.validate was given no inputs.\n"
            "  What to do: tl.validate(model, x); a model without inputs takes inputs=()",
        ),
        (
            lambda trace: tl.find_nan(model()),
            "inputs_missing",
            "tl.debug.find_nan was given no inputs.\n"
            "  What to do: tl.debug.find_nan(model, x); a model without inputs takes inputs=()",
        ),
        (
            lambda trace: tl.validate(len, X),
            "model_type_unsupported",
            "tl.validate takes an nn.Module or one of its methods, and was given the function 'len'.\n"
            "  What to do: put the computation into an nn.Module: class Net(nn.Module): def forward(self, x): ...",
        ),
        (
            lambda trace: tl.validate(model(), X, scop="forward"),
            "unknown_option",
            "tl.validate has no option 'scop'. Did you mean 'scope'?\n"
            "  What to do: it takes model, inputs, input_kwargs, scope",
        ),
        (
            lambda trace: tl.trace(model(), X, {}, "none"),
            "too_many_arguments",
            "tl.trace takes at most 3 arguments by position (model, inputs, input_kwargs), and was given 4.\n"
            "  What to do: give the others by name: save=, save_mode=, like=, capture=, name=",
        ),
        (
            lambda trace: tl.trace(),
            "argument_missing",
            "tl.trace was not given 'model'.\n  What to do: tl.trace(model)",
        ),
        (
            lambda trace: tl.trace(model(), X, keep_orphans=True),
            "unknown_option",
            "keep_orphans is an option of the capture.\n"
            "  What to do: tl.trace(..., capture=tl.CaptureOptions(keep_orphans=...))",
        ),
        (
            lambda trace: tl.trace(model(), X, capture={"keep_orphans": True}),
            "capture_invalid",
            "capture= takes tl.CaptureOptions(...), and was given a dict.\n"
            "  What to do: capture=tl.CaptureOptions(recurrence_detection=False)",
        ),
        (
            lambda trace: tl.release_model(None),
            "model_type_unsupported",
            "tl.release_model takes an nn.Module, and was given None.\n  What to do: tl.release_model(model)",
        ),
        (
            lambda trace: trace.validate_forward_pass(model()),
            "outputs_invalid",
            "validate_forward_pass takes the tensors that a plain forward pass returned, and was given a Sequential.\n"
            "  What to do: trace.validate_forward_pass(model(x))",
        ),
    ],
)
def test_what_is_said(call, code, text) -> None:
    trace = tl.trace(model(), X, name="run")
    with pytest.raises(ArgumentTypeError) as caught:
        call(trace)
    assert caught.value.code == code
    assert str(caught.value) == text


def test_outputs_are_taken_as_the_model_returns_them() -> None:
    class Two(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, object]:
            return {"first": x * 2, "rest": (x + 1, None, 3)}

    net, plain = Two(), model()
    run = tl.trace(plain, X)
    assert run.validate_forward_pass(plain(X)) is True
    assert run.validate_forward_pass([plain(X)]) is True
    assert run.validate_forward_pass([]) is True
    assert tl.trace(net, X).validate_forward_pass(net(X)) is True


def test_outputs_in_containers_of_other_libraries_are_looked_into() -> None:
    class Cache:
        def __init__(self, keys: torch.Tensor) -> None:
            self.keys = keys

    class Caching(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, object]:
            return {"logits": x * 2, "cache": Cache(x + 1)}

    net = Caching()
    trace = tl.trace(net, X)
    assert [op.address for op in trace.outputs] == ["logits", "cache.keys"]
    assert trace.validate_forward_pass(net(X)) is True


def test_a_type_error_of_the_model_is_its_own() -> None:
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x, 1, 2, 3)

    with pytest.raises(TypeError) as caught:
        tl.trace(Broken(), X)
    assert not isinstance(caught.value, ArgumentTypeError)
    assert [op.func_name for op in caught.value.partial_trace.ops] == ["input"]
