"""`validate`: what it believes, what it does not, and what it leaves behind."""

from __future__ import annotations

import inspect
import random
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad

import tl_torch as tl
from tl_core import ArtifactError, ConfigurationError, TorchLensWarning

if TYPE_CHECKING:
    from collections.abc import Callable


class Runs(nn.Module):
    """A model whose forward is a function of itself and its inputs."""

    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def fails(model: nn.Module, *inputs: Any, **options: Any) -> Any:
    """Return the failure of a validation that has to fail."""
    with pytest.warns(TorchLensWarning, match="Validation failed"):
        assert tl.validate(model, inputs, **options) is False
    failure = tl.last_validation_failure()
    assert failure is not None
    return failure


X = torch.arange(1.0, 7.0).reshape(2, 3)


# ---------------------------------------------------------------- what passes


def views_and_writes(self: Any, x: torch.Tensor) -> Any:
    y = x * 2
    z = y.view(-1)
    z[3:5].add_(1)
    y[0].zero_()
    return y + 1, z


def half_inside(self: Any, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.linear(x, torch.ones(4, 3)).float()


def drawn(self: Any, x: torch.Tensor) -> torch.Tensor:
    return F.dropout(x + torch.rand(3), 0.5, True) + torch.randn_like(x) * random.random()


def counted(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.count.add_(1)
    self.table[0] += 2
    return x * self.count + self.table.sum()


def first_order(self: Any, x: torch.Tensor) -> torch.Tensor:
    weights = torch.ones(3).requires_grad_()
    (gradient,) = torch.autograd.grad(((x * weights) ** 2).sum(), weights)
    return x @ (weights - 0.1 * gradient)


def rows_of_memory(self: Any, x: torch.Tensor) -> torch.Tensor:
    row = self.table[1]
    return torch.as_strided(row, (2,), (2,), row.storage_offset() + 1) * x[:, 0]


def written_in_a_list(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 2
    turned = y.T
    torch._foreach_add_([turned[0], y[1, 1:]], 1)
    return turned, y


def written_beside(self: Any, x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    left, right = y[:, 0], y[:, 1]
    y.neg_()
    right.add_(1)
    torch.mul(left, -2, out=right)
    return y


PASSING = {
    "views and writes": Runs(views_and_writes),
    "autocast inside": Runs(half_inside),
    "random numbers": Runs(drawn),
    "buffers": Runs(counted, count=torch.zeros(()), table=torch.ones(3)),
    "a gradient inside": Runs(first_order),
    "an operator": Runs(lambda self, x: torch.ops.aten.linear(x[None], torch.ones(4, 3))),
    "a softmax over one element": Runs(lambda self, x: torch.softmax(x[:, :1] * 2, dim=1) + x),
    "a mask": Runs(lambda self, x: x.masked_fill(x > 4.5, float("-inf")).softmax(dim=1)),
    "a shape": Runs(lambda self, x: torch.zeros_like(x) + x.new_ones(3) + x),
    "nothing to see": Runs(lambda self, x: torch.cat([x[:0], x])),
    "whole numbers": Runs(lambda self, x: x.long().remainder(2).eq(0).float() + x.argmax(dim=1, keepdim=True)),
    "weights of zero": nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)),
    "a comparison with itself": Runs(lambda self, x: torch.where(x == x, x, 0.0)),
    "complex numbers": Runs(lambda self, x: torch.fft.fft(x).abs()),
    "elements of which there are none": Runs(lambda self, x: (x.long()[:, 2:0].sum(1), x[:, :0].sum(1) + x[:, 0])),
    "the smaller of two numbers far apart": Runs(lambda self, x: torch.minimum(x.sum(), x.sum() - 1e5)),
    "the memory of a row of a buffer": Runs(rows_of_memory, table=torch.arange(12.0).reshape(3, 4)),
    "a view whose memory a list of tensors wrote": Runs(written_in_a_list),
    "a product written beside its operand": Runs(written_beside),
    "batch statistics": nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True)),
}


@pytest.mark.parametrize("name", PASSING)
def test_passes(name: str) -> None:
    model = PASSING[name]
    if name == "weights of zero":
        nn.init.zeros_(model[1].weight)
    assert tl.validate(model, X.clone()), tl.last_validation_failure()
    assert tl.last_validation_failure() is None


def test_fused_attention_is_checked_as_its_parts() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    with torch.no_grad():
        assert tl.validate(layer, torch.randn(2, 3, 4))


def test_in_inference_mode() -> None:
    with torch.inference_mode():
        assert tl.validate(nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True)), X.clone())


def test_inputs_by_keyword() -> None:
    assert tl.validate(Runs(lambda self, x: x * 2), X.clone())
    assert tl.validate(nn.Bilinear(3, 3, 2), None, {"input1": X.clone(), "input2": X.clone()})


# ---------------------------------------------------------------- what is left behind


def test_everything_is_left_as_it_was() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(3)
            self.calls = 0
            self.log: list[int] = []

        def forward(self, x: torch.Tensor, cache: list[torch.Tensor]) -> torch.Tensor:
            self.calls += 1
            self.log.append(self.calls)
            self.extra = x
            cache.append(x)
            x.add_(random.random())
            return F.dropout(self.norm(x), 0.5, True)

    model, x, cache = Model(), X.clone(), []
    state = {name: value.clone() for name, value in model.state_dict().items()}
    generators = torch.get_rng_state(), random.getstate()
    assert tl.validate(model, (x, cache))
    assert torch.equal(x, X)
    assert cache == []
    assert (model.calls, model.log) == (0, [])
    assert "extra" not in vars(model)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generators[0])
    assert random.getstate() == generators[1]


# ---------------------------------------------------------------- what cannot be believed


def test_no_finite_output() -> None:
    failure = fails(Runs(lambda self, x: torch.log(-x.abs() - 1)), X)
    assert failure.check == "degenerate_forward"
    assert failure.op_label == "output_1:1"
    assert failure.extra["degenerate_kind"] == "non_finite_output"
    assert failure.extra["scope"] == "final_outputs"
    assert failure.message == "no element of the final outputs is finite"


def test_no_finite_value_in_the_middle() -> None:
    failure = fails(Runs(lambda self, x: torch.nan_to_num(torch.log(-x.abs() - 1), nan=2.0) + x), X)
    assert failure.check == "degenerate_forward"
    assert failure.func_name == "log"
    assert failure.extra["degenerate_kind"] == "non_finite_output"


def test_no_finite_value_in_one_of_several_outputs() -> None:
    failure = fails(Runs(lambda self, x: (x, x / 0)), X)
    assert (failure.check, failure.op_label) == ("degenerate_forward", "div_1_1:1")
    assert failure.extra["scope"] == "op"


def test_memory_beyond_an_argument_is_not_judged() -> None:
    def beyond(self: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.as_strided(self.table[0], (4,), (1,), 2) + x[0, 0]

    with torch.no_grad(), pytest.warns(TorchLensWarning, match="memory_layout x1"):
        assert not tl.validate(Runs(beyond, table=torch.arange(12.0).reshape(3, 4)), X)


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
def test_half_precision_complex_numbers_and_tests_for_infinity() -> None:
    def forward(self: Any, x: torch.Tensor) -> Any:
        return x.chalf(), x.chalf().view(torch.float16), torch.isneginf(x), torch.isposinf(x)

    assert tl.validate(Runs(forward), X.clone())


def test_an_index_into_a_table_of_zeros_matters() -> None:
    def looked_up(self: Any, x: torch.Tensor) -> torch.Tensor:
        return x + torch.gather(self.table, 1, (x > 2).long() + 1)

    assert tl.validate(Runs(looked_up, table=torch.zeros(2, 3, dtype=torch.int64)), X.clone())


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_tensors_are_not_judged() -> None:
    def ragged(self: Any, x: torch.Tensor) -> torch.Tensor:
        return (torch.nested.as_nested_tensor([x[:1], x * 2]) * 3).to_padded_tensor(0.0)

    with pytest.warns(TorchLensWarning, match="nested_tensor x3"):
        assert not tl.validate(Runs(ragged), X)
    with pytest.warns(TorchLensWarning, match="nested_tensor x2"):
        assert not tl.validate(Runs(lambda self, x: torch.nested.as_nested_tensor([x[:1], x]) * 2), X)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_dual_numbers_are_not_judged_and_what_is_computed_with_them_is() -> None:
    """Their level has ended when the run has."""

    def pushed(self: Any, x: torch.Tensor) -> torch.Tensor:
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, torch.full_like(x, 3)) ** 2
            value, tangent = forward_ad.unpack_dual(y)
            return value + tangent

    trace = tl.trace(Runs(pushed), X)
    assert torch.equal(trace.outputs[0].out, X**2 + 6 * X)
    assert trace.capture_verified
    with pytest.warns(TorchLensWarning, match="nothing was wrong, and not everything could be checked: dual_level x3"):
        assert tl.validate(Runs(pushed), X) is False
    status = tl.validation(Runs(pushed), X)
    assert (status.state, status.failed_node_count) == ("unverified", 0)
    assert status.unverified_reason_counts == {"dual_level": 3}
    assert status.replayed_node_count == 3  # full_like, pow, add


def test_a_fill_value_is_not_degenerate() -> None:
    def masked(self: Any, x: torch.Tensor) -> torch.Tensor:
        mask = torch.full((3, 3), float("-inf")).triu(1)
        return torch.softmax(x[:, None] + mask, dim=-1)

    assert tl.validate(Runs(masked), X.clone())


def test_gradients_of_zero() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(3, 1)
            nn.init.zeros_(self.head.weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.detach().requires_grad_()
            (force,) = torch.autograd.grad(self.head(torch.tanh(x)).sum(), x)
            return x - force

    failure = fails(Model(), X.clone())
    assert failure.check == "degenerate_forward"
    assert failure.func_name == "autograd_grad"
    assert failure.extra["degenerate_kind"] == "zero_gradient"


def test_a_gradient_of_a_gradient() -> None:
    def second_order(self: Any, x: torch.Tensor) -> torch.Tensor:
        w = x.clone().requires_grad_()
        (first,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), w)
        return second + x

    failure = fails(Runs(second_order), X.clone())
    assert failure.check == "metadata_invariant"
    assert failure.extra["invariant"] == "backward_graph_invariants"


IGNORING: dict[str, Callable[..., torch.Tensor]] = {
    "multiplied by zero": lambda self, x: (x * 0 + 3).relu(),
    "one branch never taken": lambda self, x: torch.where(torch.ones(3, dtype=torch.bool), x, x * 2),
    "one element that is not a number": lambda self, x: torch.where(torch.arange(3) == 1, float("nan"), x),
    "clamped to one value": lambda self, x: x.clamp(2.0, 2.0),
    "one branch of whole numbers never taken": lambda self, x: torch.where(
        torch.ones(3, dtype=torch.bool), x.long(), x.long() * 2
    ),
    "taken from itself": lambda self, x: x - x,
    "taken from itself after a write": lambda self, x: (lambda y: (y.view(-1)[1:3].add_(1), y - y)[1])(x * 2),
    "multiplied by zeros of its shape": lambda self, x: x * torch.zeros_like(x),
}


@pytest.mark.parametrize("name", IGNORING)
def test_a_parent_without_effect(name: str) -> None:
    failure = fails(Runs(IGNORING[name]), X)
    assert failure.check == "perturbation"


def test_the_op_and_its_parent_are_named() -> None:
    failure = fails(Runs(lambda self, x: (x * 0 + 3).relu()), X)
    assert failure.op_label == "mul_1_1:1"
    assert failure.extra["parent"] == "input_1:1"
    assert failure.message == "its value does not change with its parent input_1:1"
    assert failure.summary() == "perturbation at mul_1_1:1 (mul): its value does not change with its parent input_1:1"
    assert str(failure).splitlines()[0] == failure.summary()
    assert "None" not in str(failure)
    assert failure.to_dict()["check"] == "perturbation"


def test_a_tensor_from_nowhere() -> None:
    def hidden(self: Any, x: torch.Tensor) -> torch.Tensor:
        with torch._C.DisableTorchFunction():
            y = torch.tanh(x)
        return y * 2

    failure = fails(Runs(hidden), X)
    assert failure.check == "source_provenance"
    assert failure.extra["n_gaps"] == 1
    assert failure.message == (
        "A tensor of shape (2, 3) was read that no recorded call made and that the model does not hold. NumPy, DLPack, "
        "torch.Tensor(...), torch.IntTensor(...), C++ functions bound by pybind alone and other threads make such tensors. What to do: "
        "register the tensor with register_buffer, pass it as an input, or create it inside forward with torch functions "
        "that capture sees: torch.tensor or torch.as_tensor in place of torch.from_numpy and its like."
    )


def test_memory_written_from_nowhere() -> None:
    def written(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.numpy()[0] = 7
        return y + 1

    with torch.no_grad():
        failure = fails(Runs(written), X)
    assert (failure.check, failure.extra["reasons"]) == ("source_provenance", ["unseen_write"])
    assert failure.message.endswith("What to do: write with functions of torch on the thread that runs the model.")


def test_several_operators_from_nowhere() -> None:
    def hidden(self: Any, x: torch.Tensor) -> torch.Tensor:
        with torch._C.DisableTorchFunction():
            y = torch.tanh(x).exp()
        return y * 2

    failure = fails(Runs(hidden), X)
    assert failure.check == "bfs_completeness"
    assert failure.op_label == "constant_1:1"
    assert failure.extra["reasons"] == ["unaccounted_dispatch", "unseen_source"]
    assert "2 of 3 dispatches belong to no recorded call" in failure.message
    assert "What to do: register C++ functions with TORCH_LIBRARY" in failure.message


LIBRARY = torch.library.Library("tltests", "DEF")
LIBRARY.define("doubled(Tensor x) -> Tensor")
LIBRARY.define("counted(Tensor x, Tensor(a!) state) -> Tensor")
LIBRARY.impl("doubled", lambda x: torch.from_numpy(x.numpy() * 2), "CPU")
LIBRARY.impl("counted", lambda x, state: (state.add_(1), x * 2)[1], "CPU")


def test_a_custom_operator_is_one_op() -> None:
    model = Runs(lambda self, x: torch.ops.tltests.doubled(x) + 1)
    with torch.no_grad():
        trace = tl.trace(model, X)
        assert [op.func_name for op in trace.ops if op.kind == "op"] == ["doubled", "add"]
        assert [op.call.kernel for op in trace.ops if op.call] == ["tltests::doubled", "add"]
        assert tl.validate(model, X)


def test_an_operator_is_stored_with_its_namespace(tmp_path: Any) -> None:
    LIBRARY.define("relu(Tensor x) -> Tensor")
    LIBRARY.impl("relu", lambda x: x.clamp(min=0), "CPU")
    model = Runs(lambda self, x: torch.ops.aten.add.Tensor(torch.ops.aten.linear(torch.ops.tltests.relu(x), X), 1))
    trace = tl.trace(model, X)
    loaded = tl.load(trace.save(tmp_path / "run.tlspec"))
    for each in (trace, loaded):
        calls = [op.call for op in each.ops if op.call]
        assert [call.name for call in calls] == ["relu", "linear", "add"]
        assert [call.kernel for call in calls] == ["tltests::relu", "aten::linear", "aten::add.Tensor"]
        assert [op.cost.flops for op in each.ops if op.call] == [None, 2 * 2 * 2 * 3, 4]  # the namesake is unknown


def test_a_custom_operator_that_writes_what_it_does_not_return() -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.tltests.counted(x, self.state)

    with torch.no_grad():
        failure = fails(Runs(forward, state=torch.zeros(3)), X)
    assert failure.check == "source_provenance"
    assert failure.func_name == "counted"
    assert failure.extra == {"reasons": ["unrecorded_operator_mutation"], "n_gaps": 1}


def test_a_model_that_is_not_the_same_twice() -> None:
    clock = iter(range(100))
    failure = fails(Runs(lambda self, x: x + next(clock)), X)
    assert failure.check == "ground_truth"
    assert failure.extra["scope"] in {"module", "output"}
    assert failure.max_abs_diff == 1.0


class Token:
    """An argument that no record can keep."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*[float(a.number) if isinstance(a, Token) else a for a in args], **(kwargs or {}))

    number = 2


def test_an_argument_that_is_not_kept() -> None:
    with pytest.warns(TorchLensWarning, match="Validation incomplete: precondition_refusal at add_1_1:1 \\(add\\)"):
        assert tl.validate(Runs(lambda self, x: torch.add(x, Token())), X.clone()) is False
    failure = tl.last_validation_failure()
    assert failure.check == "precondition_refusal"
    assert failure.extra["reasons"] == {"opaque_argument": 1}
    assert failure.message == "nothing was wrong, and not everything could be checked: opaque_argument x1"


# ---------------------------------------------------------------- how it says so


def test_a_pass_forgets_the_failure() -> None:
    fails(Runs(IGNORING["multiplied by zero"]), X)
    assert tl.validate(nn.Linear(3, 2), X)
    assert tl.last_validation_failure() is None


def test_the_warning_stands_at_the_call() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        tl.validate(Runs(IGNORING["multiplied by zero"]), X)
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]
    assert caught[0].message.code == "validation_failed"
    assert str(caught[0].message).startswith("Validation failed: perturbation at mul_1_1:1 (mul): ")


def test_counts_and_decisions() -> None:
    status = tl.validation(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), X)
    assert (status.state, status.passed, bool(status)) == ("passed", True, True)
    assert (status.backend, status.source, status.payload_load_status) == ("torch", "live", "live")
    assert status.replayed_node_count == 2
    assert status.perturbed_parent_count == 2
    assert status.exempted_parent_count == 0
    rows = [(row.op_label, row.state, row.reason) for row in status.decisions]
    assert rows == [
        ("input_1:1", "passed", ""), ("linear_1_1:1", "passed", ""), ("relu_1_2:1", "passed", ""),
        ("output_1:1", "passed", ""),
    ]  # fmt: skip
    assert status.exemptions() == "0 of 2 edges exempt (0.00%)"


def test_edges_that_answer_on_a_condition_are_counted() -> None:
    status = tl.validation(Runs(lambda self, x: torch.zeros_like(x) + x), X)
    assert status.conditional_reason_counts == {"other_shape": 1}
    assert status.exempted_parent_count == 0


def test_unknown_scope() -> None:
    with pytest.raises(
        ConfigurationError, match="scope takes 'forward', 'backward', and was given 'sideways'"
    ) as caught:
        tl.validate(nn.Linear(3, 2), X, scope="sideways")
    assert caught.value.code == "validation_scope_invalid"


def test_a_lazy_module_that_was_never_called() -> None:
    with pytest.raises(ValueError, match="uninitialized"):
        tl.validate(nn.LazyLinear(4), X)


# ---------------------------------------------------------------- backward


def test_gradients_of_the_trace() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(4, 2))
    assert tl.validate(model, X.clone().requires_grad_(), scope="backward")
    assert all(parameter.grad is None for parameter in model.parameters())


def test_gradients_through_written_memory() -> None:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.view(-1)[1:4].mul_(x.view(-1)[2:5])
        return y.cumsum(dim=1)

    assert tl.validate(Runs(forward), X.clone().requires_grad_(), scope="backward")


# ---------------------------------------------------------------- a trace that is there


def test_validating_a_trace() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    trace = tl.trace(model, X)
    assert trace.validation_replay_status.state == "available"
    with pytest.raises(TypeError, match="neither True nor False"):
        bool(trace.validation_replay_status)
    assert trace.validate_forward_pass([model(X)]) is True
    assert trace.validate_forward_pass([]) is True
    assert trace.validation_replay_status.passed


def test_outputs_of_another_model() -> None:
    model = nn.Linear(3, 2)
    trace = tl.trace(model, X)
    with pytest.warns(TorchLensWarning):
        assert trace.validate_forward_pass([model(X) + 1]) is False
    failure = tl.last_validation_failure()
    assert failure.check == "ground_truth"
    assert failure.op_label == "output_1:1"
    assert failure.max_abs_diff == pytest.approx(1.0, rel=1e-4)
    with pytest.warns(TorchLensWarning):
        assert trace.validate_forward_pass([model(X), X]) is False
    assert "has 1 outputs, and the model returned 2" in tl.last_validation_failure().message


def test_random_numbers_of_a_trace_are_not_known() -> None:
    trace = tl.trace(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), X)
    status = trace.validate_forward_pass([])
    assert status.state == "unverified"
    assert status.unverified_reason_counts == {"random_state_unknown": 1}
    assert "capture=tl.CaptureOptions(save_rng=True)" in status.message
    with pytest.raises(TypeError, match="unverified \\(random_state_unknown\\)"):
        bool(status)


def test_a_loaded_trace_refuses(tmp_path: Any) -> None:
    trace = tl.trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), X)
    loaded = tl.load(trace.save(tmp_path / "run.tlspec"))
    status = loaded.validation_replay_status
    assert (status.state, status.source, status.available) == ("unavailable", "loaded", False)
    assert status.reason == "loaded_trace_runtime_capture_stripped"
    with pytest.raises(ArtifactError, match="no functions for linear_1_1:1, relu_1_2:1") as caught:
        loaded.validate_forward_pass([])
    assert caught.value.fields["ops"] == ("linear_1_1:1", "relu_1_2:1")


def test_a_trace_without_values_refuses() -> None:
    trace = tl.trace(nn.Linear(3, 2), X, save="none")
    with pytest.raises(ConfigurationError, match=r"1 of 3 ops of .* kept no value") as caught:
        trace.validate_forward_pass([])
    assert caught.value.code == "validation_values_missing"
    assert "save=" in caught.value.remedy


def test_an_incomplete_trace_refuses() -> None:
    def raising(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        raise ArithmeticError(y.shape)

    with pytest.raises(ArithmeticError) as caught:
        tl.trace(Runs(raising), X)
    with pytest.raises(ConfigurationError, match="only a complete run can be validated"):
        caught.value.partial_trace.validate_forward_pass([])
