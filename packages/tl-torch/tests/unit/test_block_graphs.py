"""Three graphs worked out by hand, edge by edge."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from graphs import edges, named
from torch import nn

import tl_torch as tl


class ResidualBlock(nn.Module):
    """The basic block of a ResNet, with a strided shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential(nn.Conv2d(2, 4, 1, stride=2, bias=False), nn.BatchNorm2d(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


RESIDUAL_EDGES = {
    "input.1": [],
    "conv2d.1": ["input.1"],
    "buffer.1": [],
    "buffer.2": [],
    "batch_norm.1": ["conv2d.1", "buffer.1", "buffer.2"],
    "relu.1": ["batch_norm.1"],
    "conv2d.2": ["relu.1"],
    "buffer.3": [],
    "buffer.4": [],
    "batch_norm.2": ["conv2d.2", "buffer.3", "buffer.4"],
    "conv2d.3": ["input.1"],
    "buffer.5": [],
    "buffer.6": [],
    "batch_norm.3": ["conv2d.3", "buffer.5", "buffer.6"],
    "add_.1": ["batch_norm.2", "batch_norm.3"],
    "relu.2": ["add_.1"],
    "output.1": ["relu.2"],
}


def test_residual_block_in_evaluation() -> None:
    trace = tl.trace(ResidualBlock().eval(), torch.randn(1, 2, 8, 8))
    assert edges(trace) == RESIDUAL_EDGES
    ops = named(trace)
    assert [ops[name].module for name in ("conv2d.1", "batch_norm.3", "relu.2", "add_.1")] == [
        "conv1",
        "shortcut.1",
        "relu",
        "",
    ]
    assert ops["batch_norm.3"].modules == ("shortcut:1", "shortcut.1:1")
    assert ops["relu.2"].modules == ("relu:2",)
    assert ops["conv2d.2"].params == ("conv2.weight",)
    assert ops["batch_norm.1"].params == ("bn1.weight", "bn1.bias")
    assert [ops[f"buffer.{k}"].address for k in (1, 2, 5, 6)] == [
        "bn1.running_mean",
        "bn1.running_var",
        "shortcut.1.running_mean",
        "shortcut.1.running_var",
    ]
    inplace = {name for name, op in ops.items() if op.is_inplace}
    assert inplace == {"relu.1", "relu.2", "add_.1"}


def test_residual_block_in_training_updates_its_statistics() -> None:
    block = ResidualBlock().train()
    # The counters of batches lead from no input to no output.
    options = tl.CaptureOptions(keep_orphans=True)
    trace = tl.trace(block, torch.randn(2, 2, 8, 8), capture=options)
    graph = edges(trace)
    counters = [name for name in graph if name.startswith("add_.")]
    # Three counters of batches, and the residual addition.
    assert len(counters) == 4
    assert graph["batch_norm.1"] == ["conv2d.1", "buffer.2", "buffer.3"]
    assert graph["add_.1"] == ["buffer.1"]
    assert named(trace)["buffer.1"].address == "bn1.num_batches_tracked"
    assert named(trace)["add_.1"].out.item() == 1
    assert torch.equal(named(trace)["buffer.2"].out, torch.zeros(4)), "the value before the update"
    assert not torch.equal(block.bn1.running_mean, torch.zeros(4))


class TransformerBlock(nn.Module):
    """A pre-norm decoder block."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(heads.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


def test_transformer_block() -> None:
    trace = tl.trace(TransformerBlock(), torch.randn(2, 3, 8))
    assert edges(trace) == {
        "input.1": [],
        "layer_norm.1": ["input.1"],
        "linear.1": ["layer_norm.1"],
        "split.1": ["linear.1"],
        "split.2": ["linear.1"],
        "split.3": ["linear.1"],
        "view.1": ["split.1"],
        "transpose.1": ["view.1"],
        "view.2": ["split.2"],
        "transpose.2": ["view.2"],
        "view.3": ["split.3"],
        "transpose.3": ["view.3"],
        "scaled_dot_product_attention.1": ["transpose.1", "transpose.2", "transpose.3"],
        "transpose.4": ["scaled_dot_product_attention.1"],
        "reshape.1": ["transpose.4"],
        "linear.2": ["reshape.1"],
        "add.1": ["input.1", "linear.2"],
        "layer_norm.2": ["add.1"],
        "linear.3": ["layer_norm.2"],
        "gelu.1": ["linear.3"],
        "linear.4": ["gelu.1"],
        "add.2": ["add.1", "linear.4"],
        "output.1": ["add.2"],
    }
    splits = [named(trace)[f"split.{k}"] for k in (1, 2, 3)]
    assert len({op.func_call_id for op in splits}) == 1
    assert [op.output_index for op in splits] == [0, 1, 2]


class Recurrence(nn.Module):
    """An Elman network written as a loop over time."""

    def __init__(self) -> None:
        super().__init__()
        self.inward = nn.Linear(3, 4)
        self.onward = nn.Linear(4, 4, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(x.shape[0], 4)
        for step in range(x.shape[1]):
            state = torch.tanh(self.inward(x[:, step]) + self.onward(state))
        return state


def test_recurrent_loop() -> None:
    trace = tl.trace(Recurrence(), torch.randn(2, 3, 3))
    assert edges(trace) == {
        "input.1": [],
        "zeros.1": [],
        "getitem.1": ["input.1"],
        "linear.1": ["getitem.1"],
        "linear.2": ["zeros.1"],
        "add.1": ["linear.1", "linear.2"],
        "tanh.1": ["add.1"],
        "getitem.2": ["input.1"],
        "linear.3": ["getitem.2"],
        "linear.4": ["tanh.1"],
        "add.2": ["linear.3", "linear.4"],
        "tanh.2": ["add.2"],
        "getitem.3": ["input.1"],
        "linear.5": ["getitem.3"],
        "linear.6": ["tanh.2"],
        "add.3": ["linear.5", "linear.6"],
        "tanh.3": ["add.3"],
        "output.1": ["tanh.3"],
    }


def test_recurrent_loop_folds_into_passes() -> None:
    trace = tl.trace(Recurrence(), torch.randn(2, 3, 3))
    ops = named(trace)
    passes = {name: (op.pass_number, op.num_passes) for name, op in ops.items() if op.kind == "op"}
    assert passes["zeros.1"] == (1, 1)
    for kind, first in (("getitem", 1), ("add", 1), ("tanh", 1)):
        for step in range(3):
            assert passes[f"{kind}.{first + step}"] == (step + 1, 3)
    for step in range(3):
        assert passes[f"linear.{2 * step + 1}"] == (step + 1, 3)
        assert passes[f"linear.{2 * step + 2}"] == (step + 1, 3)
    inward, onward = ops["linear.1"].layer_label, ops["linear.2"].layer_label
    assert inward != onward
    assert {ops[f"linear.{k}"].layer_label for k in (1, 3, 5)} == {inward}
    assert {ops[f"linear.{k}"].layer_label for k in (2, 4, 6)} == {onward}
    assert ops["linear.3"].recurrent_ops == tuple(ops[f"linear.{k}"].label for k in (1, 3, 5))


def test_recurrence_off_gives_one_layer_a_call() -> None:
    options = tl.CaptureOptions(recurrence_detection=False)
    trace = tl.trace(Recurrence(), torch.randn(2, 3, 3), capture=options)
    ops = [op for op in trace.ops if op.kind == "op"]
    assert len({op.layer_label for op in ops}) == len(ops) == 16
    assert {op.num_passes for op in ops} == {1}


def test_labels_of_a_small_network() -> None:
    trace = tl.trace(Recurrence(), torch.randn(2, 2, 3))
    labels = [op.label for op in trace.ops]
    # Two passes of getitem, of two linears, of add and of tanh: a pass consumes no number.
    assert labels == [
        "input_1:1",
        "zeros_1_1:1",
        "getitem_1_2:1",
        "linear_1_3:1",
        "linear_2_4:1",
        "add_1_5:1",
        "tanh_1_6:1",
        "getitem_1_2:2",
        "linear_1_3:2",
        "linear_2_4:2",
        "add_1_5:2",
        "tanh_1_6:2",
        "output_1:1",
    ]
    assert trace["linear_2_4:2"].parents == ("tanh_1_6:1",)
    assert trace["linear_2_4:2"].label_short == "linear_2:2"
    assert trace[7].label == "getitem_1_2:2"
    assert trace[-1].label == "output_1:1"
    assert trace["linear_1"].label == "linear_1_3"
    assert trace["inward"].address == "inward"
