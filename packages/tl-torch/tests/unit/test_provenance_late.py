"""Parameters that the forward itself makes, attention that torch would fuse, quantized modules."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

X = torch.tensor([[1.0, 2.0, 3.0], [0.5, 3.0, 1.0]])


def advisories(trace: tl.Trace) -> list[tuple[object, object, object]]:
    rows = trace.annotations.get("capture_advisories", [])
    return [(row["kind"], row["count"], row["first_location"]) for row in rows]


class MadeInForward(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.lazy = nn.LazyLinear(2)
        return self.lazy(x)


class Unattached(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.LazyLinear(2)(x)


class MadeBefore(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lazy = nn.LazyLinear(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.lazy(x)


@pytest.mark.filterwarnings("ignore:Lazy modules:UserWarning")
class TestLazy:
    def test_parameters_made_in_forward_are_registered_under_their_address(self) -> None:
        trace = tl.trace(MadeInForward(), X)
        assert [param.address for param in trace.params] == ["lazy.weight", "lazy.bias"]
        assert [param.shape for param in trace.params] == [(2, 3), (2,)]
        linear = next(op for op in trace.ops if op.func_name == "linear")
        assert linear.params == ("lazy.weight", "lazy.bias")
        assert linear.module == "lazy"
        assert (trace.capture_verified, trace.gaps) == (True, ())
        assert advisories(trace) == [("parameter_created_in_forward", 2, "lazy.weight")]

    def test_slot_that_replaces_a_prepared_one_says_so(self) -> None:
        model = MadeInForward()
        tl.trace(model, X)
        trace = tl.trace(model, X)
        (row,) = trace.annotations["capture_advisories"]
        assert "lazy.weight (replaces the one that was there)" in row["message"]

    def test_module_that_is_not_attached_has_no_advisory_and_a_known_origin(self) -> None:
        trace = tl.trace(Unattached(), X)
        assert advisories(trace) == []
        assert trace.capture_verified  # its initialisers are ops of the trace

    def test_module_made_before_the_run_has_no_advisory(self) -> None:
        trace = tl.trace(MadeBefore(), X)
        assert advisories(trace) == []
        assert [param.shape for param in trace.params] == [(2, 3), (2,)]
        assert trace.capture_verified


@pytest.mark.parametrize("lazy", [nn.LazyLinear, nn.LazyBatchNorm1d, nn.LazyInstanceNorm1d])
def test_lazy_buffers_get_their_memory_as_lazy_parameters_do(lazy: type[nn.Module]) -> None:
    module = lazy(3) if lazy is nn.LazyLinear else lazy(track_running_stats=True)
    trace = tl.trace(nn.Sequential(module), torch.rand(2, 4, 5) if lazy is nn.LazyInstanceNorm1d else torch.rand(2, 4))
    assert (trace.capture_verified, trace.gaps) == (True, ())


def test_parameter_made_of_a_value_is_that_value() -> None:
    class Wraps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.p = nn.Parameter((x * 2).detach())
            return self.p + x

    trace = tl.trace(Wraps(), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul", "detach", "add"]
    assert trace["add_1_3:1"].parents == ("mul_1_1:1", "input_1:1")  # the same memory
    assert (trace.capture_verified, advisories(trace)) == (True, [])


# ---------------------------------------------------------------- attention


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()


SEQUENCE = torch.randn(1, 3, 4)


def test_fused_attention_is_held_off_and_the_trace_says_so() -> None:
    model = encoder()
    with torch.no_grad():
        fused = model(SEQUENCE)
        trace = tl.trace(model, SEQUENCE)
        assert torch.backends.mha.get_fastpath_enabled() is True
    names = [op.func_name for op in trace.ops]
    assert "scaled_dot_product_attention" in names
    assert names.count("linear") == 4
    assert torch.allclose(trace.outputs[0].out, fused, atol=1e-5)
    assert advisories(trace) == [("fused_attention_fastpath_held_off", 2, "the model")]
    with torch.no_grad():
        assert tl.validate(model, SEQUENCE)


def test_frozen_parameters_are_fused_with_gradients_on_as_well() -> None:
    model = nn.MultiheadAttention(4, 2, batch_first=True).eval().requires_grad_(False)
    trace = tl.trace(model, (SEQUENCE, SEQUENCE, SEQUENCE))
    assert advisories(trace) == [("fused_attention_fastpath_held_off", 1, "the model")]


@pytest.mark.parametrize(
    "make",
    [
        lambda: encoder().train(),
        encoder,  # gradients are on and the parameters ask for them
        lambda: nn.Sequential(nn.Linear(4, 4)).eval(),
    ],
    ids=["training", "with gradients", "no attention"],
)
def test_attention_that_would_not_be_fused_has_no_advisory(make: object) -> None:
    assert advisories(tl.trace(make(), SEQUENCE)) == []


def test_attention_that_the_user_unfused_has_no_advisory() -> None:
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            assert advisories(tl.trace(encoder(), SEQUENCE)) == []
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


# ---------------------------------------------------------------- quantized, compiled


def test_quantized_modules_are_traced_with_a_warning_at_the_call() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = tl.trace(quantized, X)
    (warning,) = [each for each in caught if isinstance(each.message, tl.TorchLensWarning)]
    assert warning.message.code == "quantized_modules"
    assert warning.filename == __file__
    assert "Linear" in str(warning.message)
    assert torch.equal(trace.outputs[0].out, quantized(X))


# ---------------------------------------------------------------- attributes that cannot be looked into


class Unreadable(dict):
    def items(self) -> object:
        raise OSError("the disk is\ngone")


class HoldsDeeply(nn.Module):
    def __init__(self, holder: object, take: object) -> None:
        super().__init__()
        self.holder = holder
        self.take = take

    def forward(self, x: Tensor) -> Tensor:
        return x if self.take is None else x + self.take(self.holder)


def nested(value: object) -> list[object]:
    for _ in range(20):
        value = [value]
    return value


def innermost(value: object) -> Tensor:
    while isinstance(value, list):
        value = value[0]
    return value


@pytest.mark.parametrize(
    ("holder", "take", "why"),
    [
        (nested(torch.ones(2, 3)), innermost, "it is nested too deeply"),
        (Unreadable(a=torch.ones(2, 3)), lambda holder: holder["a"], "reading it raised OSError: the disk is gone"),
    ],
    ids=["too deep", "unreadable"],
)
def test_tensor_where_the_scan_was_cut_is_a_gap_of_its_own(holder: object, take: object, why: str) -> None:
    trace = tl.trace(HoldsDeeply(holder, take), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "held_tensor_scan_truncated")
    assert "'holder" in trace.gaps[0].message
    assert why in trace.gaps[0].message
    unread = tl.trace(HoldsDeeply(holder, None), X)
    assert unread.capture_verified
    for each in (trace, unread):
        (row,) = each.annotations["capture_advisories"]
        assert (row["kind"], row["count"]) == ("held_tensor_scan_truncated", 1)
        assert str(row["first_location"]).startswith("holder")
        assert why in str(row["message"])
    with pytest.warns(tl.TorchLensWarning, match="has to be readable and not nested deeply"):
        assert not tl.validate(HoldsDeeply(holder, take), X)
    failure = tl.last_validation_failure()
    assert (failure.check, failure.extra["reasons"]) == ("source_provenance", ["held_tensor_scan_truncated"])


BOOKS = Unreadable(a=torch.ones(2, 3))


def test_global_that_cannot_be_read_is_a_row_with_what_it_said() -> None:
    class Reads(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + BOOKS["a"]

    trace = tl.trace(Reads(), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "held_tensor_scan_truncated")
    assert advisories(trace) == [("held_tensor_scan_truncated", 1, "global:BOOKS")]
    assert "'global:BOOKS' could not be looked into to the end: reading it raised OSError: the disk is gone." in (
        trace.gaps[0].message
    )


# ---------------------------------------------------------------- compiled


def test_compiled_model_is_noted_once_a_process() -> None:
    from tl_torch._compiled import note_unwrapped

    note_unwrapped.cache_clear()
    compiled = torch.compile(nn.Linear(3, 2), backend="eager")
    with pytest.warns(tl.TorchLensWarning, match="may compile itself again") as caught:
        trace = tl.trace(compiled, X)
    assert [(warning.message.code, warning.filename) for warning in caught] == [("compiled_model_unwrapped", __file__)]
    assert [op.func_name for op in trace.ops] == ["input", "linear", "output"]
    tl.trace(compiled, X)  # warnings are errors here
    tl.trace(nn.Sequential(compiled), X)


# ---------------------------------------------------------------- constants that are only returned

TABLE = torch.ones(2, 2)


def test_global_that_the_model_returns_is_a_constant() -> None:
    class Returns(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x + 1, TABLE

    trace = tl.trace(Returns(), X)
    assert trace.capture_verified
    assert [op.address for op in trace.ops if op.kind == "constant"] == ["global:TABLE"]


def test_what_the_caller_of_trace_holds_is_no_constant_of_the_model() -> None:
    made = []

    class Returns(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with torch._C.DisableTorchFunction():
                return x * 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "HELD", made)  # the globals of the caller lead nowhere
        trace = tl.trace(Returns(), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_source")
