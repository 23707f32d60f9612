"""`trace.cost`: every number of the residual network worked out by hand."""

from collections.abc import Mapping

import pytest

from tl_core import BackendUnsupportedError, Bytes, Duration, Flops, Macs, TraceCost
from tl_core._cost import item_bits, tensor_bytes

# FLOPs: linear 2*10*20=400 three times, head 2*10*6=120, relu 20 twice, add 20 twice.


def test_work(residual_trace):
    cost = residual_trace.cost
    assert cost.flops == 3 * 400 + 120 + 4 * 20 == 1400
    assert cost.macs == 3 * 200 + 60 == 660
    assert isinstance(cost.flops, Flops)
    assert isinstance(cost.macs, Macs)
    assert cost.unknown_operators == {}


def test_memory(residual_trace):
    cost = residual_trace.cost
    assert cost.activation_bytes == 7 * 20 * 4 + 6 * 4  # seven results of (2, 10) and one of (2, 3), four bytes each
    assert cost.saved_bytes == 80  # the stem's output only
    assert cost.saved_count == 1
    assert cost.param_count == 100 + 10 + 100 + 100 + 30 + 49
    assert cost.trainable_param_count == cost.param_count - 30
    assert cost.param_bytes == 4 * cost.param_count
    assert cost.buffer_bytes == 10  # ten bools
    assert isinstance(cost.param_bytes, Bytes)


def test_time(residual_trace):
    cost = residual_trace.cost
    assert cost.duration == pytest.approx(0.002)
    assert cost.function_duration == pytest.approx(8e-6)
    assert isinstance(cost.duration, Duration)


def test_by_call_and_by_function(residual_trace):
    cost = residual_trace.cost
    assert [None if one is None else one.flops for one in cost.calls] == [400, 400, 20, 20, 400, 20, 20, 120]
    assert [(one.func_name, one.calls, one.flops, one.macs, one.uncounted) for one in cost.functions] == [
        ("linear", 4, 1320, 660, 0),
        ("add", 2, 40, 0, 0),
        ("relu_", 2, 40, 0, 0),
    ]
    assert cost.functions[0].duration == pytest.approx(4e-6)


def test_unknown_operators_are_listed_and_not_guessed(run):
    x = run.source("input", "x", (2, 10))
    for name in ("fold", "mystery", "mystery", "relu"):
        x = run.op(name, [x], (2, 10))
    cost = run.finish().cost
    assert isinstance(cost.unknown_operators, Mapping)
    assert list(cost.unknown_operators.items()) == [("mystery", 2), ("fold", 1)]
    assert cost.flops == 20
    assert [(one.func_name, one.uncounted) for one in cost.functions] == [
        ("relu", 0),  # FLOPs first
        ("mystery", 2),  # then time
        ("fold", 1),
    ]


def test_several_outputs_are_one_call(run):
    x = run.source("input", "x", (2, 10))
    run.outputs("linear", [x], [(2, 10), (2, 5)])
    cost = run.finish().cost
    assert cost.flops == 400
    assert cost.activation_bytes == (20 + 10) * 4


def test_formulas_run_once(residual_trace, paper_backend, monkeypatch):
    assert residual_trace.cost is residual_trace.cost
    assert residual_trace.cost.flops == 1400
    monkeypatch.setattr(paper_backend, "cost", None)
    assert residual_trace.cost.macs == 660


def test_without_the_backend_only_work_is_refused(run, monkeypatch):
    def missing(name):
        raise BackendUnsupportedError(f"No backend is called {name!r}.", code="unknown_backend")

    monkeypatch.setattr("tl_core._cost.backend", missing)
    run.op("relu", [run.source("input", "x", (2, 10))], (2, 10))
    cost = run.finish().cost
    assert cost.activation_bytes == 80
    with pytest.raises(BackendUnsupportedError):
        _ = cost.flops


def test_a_layer_costs_what_its_passes_cost(run):
    x = run.source("input", "x", (2, 4))
    for _ in range(3):
        x = run.op("relu", [x], (2, 4))
    trace = run.finish()
    layer = trace.layers["relu_1"]
    assert layer.num_passes == 3
    assert layer.cost.duration == sum(op.cost.duration for op in layer.ops)
    assert layer.cost.flops == 3 * layer.ops[0].cost.flops
    assert layer.cost.macs == 3 * layer.ops[0].cost.macs
    assert trace.layers["input_1"].cost.flops is None


def test_an_empty_trace_costs_nothing(run):
    cost = run.finish().cost
    assert (cost.flops, cost.macs, cost.activation_bytes, cost.param_count, cost.saved_count) == (0, 0, 0, 0, 0)
    assert cost.functions == ()
    assert repr(cost) == "<TraceCost: 0 parameters (0 bytes), activations 0 bytes, 2 ms>"


@pytest.mark.parametrize("name", [name for name in vars(TraceCost) if not name.startswith("_")])
def test_every_number_says_what_it_is_not(name):
    text = vars(TraceCost)[name].__doc__
    assert "Not " in text or "left out" in text or name == "calls", name


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("float32", 32),
        ("float64", 64),
        ("float16", 16),
        ("bfloat16", 16),
        ("complex64", 64),
        ("complex128", 128),
        ("bool", 8),
        ("uint8", 8),
        ("int64", 64),
        ("float8_e4m3fn", 8),
        ("float8_e5m2fnuz", 8),
        ("qint32", 32),
        ("float4_e2m1fn_x2", 8),
        ("uint4", 4),
        ("string", 0),
    ],
)
def test_sizes_of_dtypes(dtype, bits):
    assert item_bits(dtype) == bits


def test_sizes_of_tensors():
    assert tensor_bytes((), "torch.float32") == 4
    assert tensor_bytes((0, 5), "float32") == 0
    assert tensor_bytes((3,), "uint4") == 2  # a half byte each, rounded up
    assert tensor_bytes((10**6, 10**6), "torch.bfloat16") == 2 * 10**12
