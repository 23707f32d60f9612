"""`escape_detector="shadow"`, and the process-wide defaults that `wrap_torch` sets."""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from graphs import run
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Iterator

X = torch.tensor([[1.0, 2.0], [0.5, 3.0]])
SHADOW = tl.CaptureOptions(escape_detector="shadow")
BOTH = tl.CaptureOptions(escape_detector="shadow", completeness_witness=True)


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    tl.unwrap_torch()


def plain(x: Tensor) -> Tensor:
    return nn.functional.relu(x.sum(0) @ x)


def imports_an_array(x: Tensor) -> Tensor:
    return x + torch.from_numpy(np.ones((2, 2), np.float32))


def test_clean_run_is_a_diagnosis_and_no_claim() -> None:
    trace = run(plain, X, capture=SHADOW)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "shadow_diagnostic_mode")
    assert trace.escape_diagnostics == ()
    assert trace.annotations["escape_detector_backward_coverage"] == "not_armed"
    assert sys.getprofile() is None


def test_clean_run_with_a_witness_is_a_claim() -> None:
    trace = run(plain, X, capture=BOTH)
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "dispatch_witness_verified")


@pytest.mark.parametrize("options", [SHADOW, BOTH], ids=["alone", "with a witness"])
def test_hit_names_the_function_and_its_line(options: tl.CaptureOptions) -> None:
    trace = run(imports_an_array, X, capture=options)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "callable_escape_shadow_report")
    (row,) = trace.escape_diagnostics
    assert row["callable_candidates"][0].endswith("from_numpy")
    assert row["detector_backend"] == "setprofile"
    assert row["violation_id"] == 1
    assert (row["file"], row["function"]) == ("test_honesty_shadow.py", "imports_an_array")
    assert row["line"] == imports_an_array.__code__.co_firstlineno + 1
    assert row["stack"][0].startswith("test_honesty_shadow.py:")


def hidden(x: Tensor) -> Tensor:
    with torch._C.DisableTorchFunction():
        y = torch.tanh(x)
    return y + 1


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_builtin_that_a_disabled_seam_hides() -> None:
    trace = run(hidden, X, capture=SHADOW)
    assert trace.capture_verification_reason == "callable_escape_shadow_report"
    (row,) = trace.escape_diagnostics
    assert row["callable_candidates"][0].endswith("tanh")
    assert row["function"] == "hidden"


def test_profile_hook_of_the_user_is_called_on_and_put_back() -> None:
    events: list[str] = []

    def hook(frame: object, event: str, argument: object) -> None:
        if event == "c_call":
            events.append(argument.__name__)

    sys.setprofile(hook)
    try:
        run(imports_an_array, X, capture=SHADOW)
        assert sys.getprofile() is hook
    finally:
        sys.setprofile(None)
    assert "from_numpy" in events


def test_hook_is_gone_after_an_error() -> None:
    def forward(x: Tensor) -> Tensor:
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        run(forward, X, capture=BOTH)
    assert sys.getprofile() is None
    assert torch._C._len_torch_dispatch_stack() == 0


# ---------------------------------------------------------------- defaults


def test_wrap_torch_sets_defaults_and_patches_nothing() -> None:
    before = torch.relu, torch.Tensor.add, nn.functional.relu
    assert tl.is_wrapped() is False
    tl.wrap_torch(completeness_witness=True)
    tl.wrap_torch()
    assert tl.is_wrapped() is True
    assert (torch.relu, torch.Tensor.add, nn.functional.relu) == before
    trace = run(plain, X)
    assert trace.capture_verification_reason == "dispatch_witness_verified"
    assert trace.options.completeness_witness is True
    tl.wrap_torch(escape_detector="shadow", completeness_witness=False)
    assert run(plain, X).capture_verification_reason == "shadow_diagnostic_mode"
    tl.unwrap_torch()
    assert tl.is_wrapped() is False
    assert run(plain, X).capture_verification_reason == "provenance_complete"


def test_options_of_a_capture_go_before_the_defaults() -> None:
    tl.wrap_torch(escape_detector="shadow", completeness_witness=True)
    options = tl.CaptureOptions(escape_detector="off", completeness_witness=False)
    assert run(plain, X, capture=options).capture_verification_reason == "provenance_complete"


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.wrap_torch(escape_detector="loud"),
        lambda: run(plain, X, capture=tl.CaptureOptions(escape_detector="loud")),
    ],
)
def test_unknown_detector_is_refused(call: object) -> None:
    with pytest.raises(tl.ConfigurationError, match="'loud'") as caught:
        call()
    assert caught.value.code == "escape_detector_invalid"


# ---------------------------------------------------------------- release


class Holds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = torch.relu
        self.acts = [torch.tanh, nn.functional.gelu]
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.acts[0](self.act(self.linear(x)))


def test_model_that_holds_functions_pickles_after_a_trace() -> None:
    model = Holds()
    held = vars(model)["act"]
    tl.trace(model, X)
    assert tl.release_model(model) is None
    assert vars(model)["act"] is held
    tl.unwrap_torch()
    again = pickle.loads(pickle.dumps(model))
    assert torch.equal(again(X), model(X))


def test_release_of_something_else_is_refused() -> None:
    with pytest.raises(tl.ArgumentTypeError, match=r"takes an nn\.Module, and was given an int") as caught:
        tl.release_model(3)
    assert caught.value.code == "model_type_unsupported"
