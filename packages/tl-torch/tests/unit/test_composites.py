"""Functions that torch writes in Python are opened; what boils down to one builtin stays one op."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from graphs import edges, graph, named, run
from torch import Tensor, nn

import tl_core
import tl_torch as tl

X = torch.randn(2, 3, 4)


def functions(trace: object) -> list[str]:
    return [op.func_name for op in trace.ops if op.kind == "op"]


def test_relu_is_one_op() -> None:
    for function in (F.relu, torch.relu, Tensor.relu, nn.ReLU()):
        assert graph(function, X) == {
            "input.1": [],
            "relu.1": ["input.1"],
            "output.1": ["relu.1"],
        }


def test_one_builtin_under_the_outer_name() -> None:
    expected = {
        "softmax": lambda x: F.softmax(x, -1),
        "layer_norm": lambda x: F.layer_norm(x, (4,)),
        "gelu": F.gelu,
        "silu": F.silu,
        "dropout": lambda x: F.dropout(x, 0.5),
        "pad": lambda x: F.pad(x, (1, 1)),
    }
    for name, function in expected.items():
        assert functions(run(function, X)) == [name]


def test_multi_head_attention_shows_what_it_does() -> None:
    attention = nn.MultiheadAttention(4, 2, batch_first=True)

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attention

        def forward(self, x: Tensor) -> Tensor:
            return self.attention(x, x, x, need_weights=False)[0]

    trace = tl.trace(Attends(), X)
    names = functions(trace)
    assert names.count("linear") == 2
    assert "scaled_dot_product_attention" in names
    assert "multi_head_attention_forward" not in names
    linears = [op for op in trace.ops if op.func_name == "linear"]
    assert linears[0].params == ("attention.in_proj_weight", "attention.in_proj_bias")
    assert linears[1].params == ("attention.out_proj.weight", "attention.out_proj.bias")
    assert {op.module for op in linears} == {"attention"}
    assert torch.equal(trace[-1].out, attention(X, X, X, need_weights=False)[0])


def test_attention_leaves_its_fused_path() -> None:
    attention = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    with torch.no_grad():
        for model, args in ((attention, (X, X, X)), (encoder, (X,))):
            trace = tl.trace(model, args)
            names = functions(trace)
            assert "linear" in names
            assert not any("native" in name or "encoder_layer_fwd" in name for name in names)
            expected = model(*args)
            expected = expected[0] if isinstance(expected, tuple) else expected
            assert torch.allclose(trace.outputs[0].out, expected, atol=1e-6)


def test_gumbel_softmax_shows_what_it_does() -> None:
    torch.manual_seed(5)
    expected = F.gumbel_softmax(X, hard=True)
    torch.manual_seed(5)
    trace = run(lambda x: F.gumbel_softmax(x, hard=True), X)
    names = functions(trace)
    assert "gumbel_softmax" not in names
    assert "exponential_" in names
    assert "softmax" in names
    assert torch.equal(trace[-1].out, expected)


def test_norm_boils_down_to_one_op_under_its_own_name() -> None:
    trace = run(lambda x: torch.norm(x, dim=-1), X)
    assert functions(trace) == ["norm"]
    assert torch.equal(trace[-1].out, torch.norm(X, dim=-1))


def test_normalize_shows_what_it_does() -> None:
    trace = run(lambda x: F.normalize(x, dim=-1), X)
    assert functions(trace) == ["norm", "clamp_min", "expand_as", "div"]
    assert edges(trace)["div.1"] == ["input.1", "expand_as.1"]


def test_composites_bind_nothing_to_torch() -> None:
    run(lambda x: F.gumbel_softmax(torch.norm(x, dim=-1)), X)
    globals_of_body = F.gumbel_softmax.__globals__
    assert globals_of_body is vars(F)
    assert globals_of_body["has_torch_function_unary"] is torch._C._has_torch_function_unary or (
        globals_of_body["has_torch_function_unary"](X) is False
    )


def test_printing_and_copying_are_no_ops() -> None:
    import copy

    def forward(x: Tensor) -> Tensor:
        y = x * 2
        f"{y} {y!r} {y.shape} {len(y)} {y.dim()}"
        copy.deepcopy(y.detach())
        return y + 1

    names = functions(run(forward, X))
    assert names[0] == "mul"
    assert names[-1] == "add"
    assert len(names) <= 5


def test_custom_op_is_one_op_with_its_own_name() -> None:
    @torch.library.custom_op("tl_tests::halve_twice", mutates_args=(), schema="(Tensor x) -> Tensor")
    def halve_twice(x: Tensor) -> Tensor:
        return x / 2 / 2

    trace = run(lambda x: halve_twice(x) + 1, X)
    assert edges(trace)["add.1"] == ["halve_twice.1"]
    assert functions(trace) == ["halve_twice", "add"]
    through_packet = run(lambda x: torch.ops.tl_tests.halve_twice(x), X)
    assert functions(through_packet) == ["halve_twice"]


def test_custom_op_that_writes_its_argument() -> None:
    @torch.library.custom_op("tl_tests::clear_first", mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    def clear_first(x: Tensor) -> None:
        x[0].zero_()

    def forward(x: Tensor) -> Tensor:
        y = x * 2
        clear_first(y)
        return y + 1

    trace = run(forward, X)
    assert trace[-1].out[0].eq(1).all()
    ops = named(trace)
    assert torch.equal(ops["mul.1"].out, X * 2)
    # Either the write is an op and an edge, or the capture says that it was not seen.
    written = any(name.startswith("clear_first") for name in ops)
    assert written or trace.capture_verified is False


def test_raw_operators() -> None:
    trace = run(lambda x: torch.ops.aten.linear(x, torch.ops.aten.t(x[0, :2].t())), X)
    assert functions(trace) == ["getitem", "t", "t", "linear"]
    assert edges(trace)["linear.1"] == ["input.1", "t.2"]
    trace = run(lambda x: torch.ops.aten.add.Tensor(x, x), X)
    assert functions(trace) == ["add"]


def test_recurrent_cells_and_layers_are_ops() -> None:
    trace = tl.trace(nn.LSTM(4, 3, batch_first=True), X)
    lstm = [op for op in trace.ops if op.func_name == "lstm"]
    assert [op.output_index for op in lstm] == [0, 1, 2]
    assert [op.shape for op in lstm] == [(2, 3, 3), (1, 2, 3), (1, 2, 3)]
    assert set(lstm[0].params) == {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}
    assert [op.io_role for op in trace.outputs] == ["output.0", "output.1.0", "output.1.1"]
    cell = tl.trace(nn.GRUCell(4, 3), X[0])
    assert functions(cell)[-1] == "gru_cell"


def test_lstm_language_model() -> None:
    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 6)
            self.core = nn.LSTM(6, 6, num_layers=2, batch_first=True)
            self.head = nn.Linear(6, 11, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens: Tensor) -> Tensor:
            hidden, _ = self.core(self.embed(tokens))
            return F.log_softmax(self.head(hidden), -1)

    tokens = torch.tensor([[1, 2, 3]])
    model = Language()
    trace = tl.trace(model, tokens)
    parents = edges(trace)
    assert parents["lstm.1"][0] == "embedding.1"
    assert parents["linear.1"] == ["lstm.1"]
    assert parents["log_softmax.1"] == ["linear.1"]
    assert named(trace)["linear.1"].params == ("embed.weight",)
    assert torch.equal(trace[-1].out, model(tokens))


def test_scripted_function_is_one_boundary_op() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(smooth)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = run(lambda x: scripted(x * 2) + 1, X)
    (name,) = (n for n, op in named(trace).items() if op.transform_kind == "jit.script")
    assert edges(trace)[name] == ["mul.1"]
    assert edges(trace)["add.1"] == [name]
    codes = [warning.message.code for warning in caught if isinstance(warning.message, tl_core.TorchLensWarning)]
    assert codes == ["torchscript_boundary"]


def smooth(x: Tensor) -> Tensor:
    return torch.sigmoid(x) * 0.5


def test_vmap_is_told() -> None:
    trace = run(lambda x: torch.vmap(lambda row: row.sum() * 2)(x) + 1, X)
    assert torch.allclose(trace[-1].out, X.sum((1, 2)) * 2 + 1)
    (parent,) = edges(trace)["add.1"]
    assert named(trace)[parent].shape == (2,)
    assert math.isclose(named(trace)[parent].out[0].item(), X[0].sum().item() * 2, rel_tol=1e-5)
