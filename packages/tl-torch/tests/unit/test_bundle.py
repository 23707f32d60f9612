"""Traces of torch models on disk: values, labels and arguments come back, and saving changes nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import tl_torch as tl
from tl_core import ArtifactError, FrameworkValue, MutatedReferenceError, Trace
from tl_torch._torch_private import data_address

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Run(nn.Module):
    """A model that is one function."""

    def __init__(self, function: Callable[..., Any], **tensors: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def same(left: Any, right: Any) -> bool:
    """Equal bits, whatever they mean."""
    if left is None or right is None:
        return left is right
    if (left.dtype, left.shape, left.device) != (right.dtype, right.shape, right.device):
        return False
    bits = [side.detach().resolve_conj().resolve_neg().contiguous().reshape(-1) for side in (left, right)]
    return left.numel() == 0 or torch.equal(bits[0].view(torch.uint8), bits[1].view(torch.uint8))


def reloaded(trace: Trace, folder: Path) -> Trace:
    """The trace from disk, once its labels, edges and values were compared."""
    path = trace.save(folder / "a.tlspec")
    assert len(list(path.iterdir())) == 3
    for lazy in (True, False):
        loaded = tl.load(path, lazy=lazy)
        assert [op.label for op in loaded.ops] == [op.label for op in trace.ops]
        assert [op.parents for op in loaded.ops] == [op.parents for op in trace.ops]
        assert [op.children for op in loaded.ops] == [op.children for op in trace.ops]
        assert [op.modules for op in loaded.ops] == [op.modules for op in trace.ops]
        assert [(op.shape, op.dtype, op.device) for op in loaded.ops] == [
            (op.shape, op.dtype, op.device) for op in trace.ops
        ]
        assert [layer.label for layer in loaded.layers] == [layer.label for layer in trace.layers]
        wrong = [op.label for op, other in zip(trace.ops, loaded.ops, strict=True) if not same(op.out, other.out)]
        assert wrong == []
        assert [op.payload.saved for op in loaded.ops] == [op.payload.saved for op in trace.ops]
    return tl.load(path)


DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128,
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype: torch.dtype, tmp_path: Path) -> None:
    size = torch.empty((), dtype=dtype).element_size()
    bits = torch.arange(24 * size) % (2 if dtype == torch.bool else 251)
    x = bits.to(torch.uint8).view(dtype).reshape(4, 6)
    trace = tl.trace(Run(lambda x: (x.clone(), x.t(), x[0, 0], x[:0], x[1:, ::2])), x)
    assert len({op.shape for op in trace.ops}) == 5
    loaded = reloaded(trace, tmp_path)
    assert loaded.ops[1].out.dtype == dtype
    if dtype not in (torch.uint16, torch.uint32, torch.uint64):
        found = loaded.find(tl.func("clone"))[0].out
        assert same(found, x)


def test_strides_and_special_bits(tmp_path: Path) -> None:
    z = torch.complex(torch.arange(6.0), torch.arange(6.0) - 2).reshape(2, 3)
    image = torch.arange(48.0).reshape(2, 3, 2, 4).contiguous(memory_format=torch.channels_last)

    def views(z: torch.Tensor, image: torch.Tensor) -> list[torch.Tensor]:
        return [
            z.conj(),
            z.conj().imag,
            z.real,
            torch.view_as_real(z),
            image.permute(3, 1, 0, 2),
            image[:, :1].expand(2, 5, 2, 4),
        ]

    loaded = reloaded(tl.trace(Run(views), [z, image]), tmp_path)
    conj = loaded.find(tl.func("conj"))[0].out
    assert not conj.is_conj()
    assert conj.tolist() == [[2j, 1 + 1j, 2 + 0j], [3 - 1j, 4 - 2j, 5 - 3j]]


def test_sparse_values_are_spread_out(tmp_path: Path) -> None:
    def scattered(x: torch.Tensor) -> torch.Tensor:
        return torch.sparse_coo_tensor([[0, 1], [1, 2]], x, (2, 3), check_invariants=True).to_dense() + 1

    loaded = tl.load(tl.trace(Run(scattered), torch.tensor([5.0, 7.0])).save(tmp_path / "a.tlspec"))
    assert loaded.find(tl.func("sparse_coo_tensor"))[0].out.tolist() == [[0.0, 5.0, 0.0], [0.0, 0.0, 7.0]]


def test_views_share_bytes_on_disk(tmp_path: Path) -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (x + 1).split(64, dim=1)
        heads = [part.view(32, 4, 16).transpose(0, 1) for part in (q, k, v)]
        return heads[0] @ heads[1].transpose(1, 2) @ heads[2]

    trace = tl.trace(Run(attend), torch.randn(32, 192))
    reloaded(trace, tmp_path)
    dense = sum(op.payload.size_bytes for op in trace.ops)
    assert dense > 2 * (tmp_path / "a.tlspec" / "payloads.safetensors").stat().st_size


def test_saving_does_not_end_a_copy_on_write_share(tmp_path: Path) -> None:
    trace = tl.trace(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), torch.randn(4, 8))
    before = [data_address(op.out) for op in trace.ops]
    state = [op.out.clone() for op in trace.ops]
    trace.save(tmp_path / "a.tlspec")
    assert [data_address(op.out) for op in trace.ops] == before
    assert all(torch.equal(left, op.out) for left, op in zip(state, trace.ops, strict=True))


def test_the_official_library_reads_the_values(tmp_path: Path) -> None:
    trace = tl.trace(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), torch.randn(2, 3, 8, 8))
    tensors = load_file(trace.save(tmp_path / "a.tlspec") / "payloads.safetensors")
    assert {"conv2d_1_1:1", "relu_1_3:1"} <= set(tensors)
    for label, tensor in tensors.items():
        assert torch.equal(trace.ops[label].out, tensor)


class Loop(nn.Module):
    """A cell run over time, with a buffer, an in-place write through a view, and a branch on a value."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        h = x.new_zeros(x.shape[0], 4)
        for step in range(x.shape[1]):
            h = self.norm(self.cell(x[:, step], h))
        whole = torch.relu(h)
        part = whole[:, :2]
        part.mul_(2.0)
        if whole.sum() > 1e9:
            whole = whole * 0
        return {"logits": self.head(whole), "steps": x.shape[1], "kinds": [torch.float16, None]}


def test_a_recurrent_network(tmp_path: Path) -> None:
    trace = tl.trace(Loop(), torch.randn(5, 6, 3))
    loaded = reloaded(trace, tmp_path)
    assert any(layer.num_passes == 6 for layer in loaded.layers)
    assert [param.address for param in loaded.params] == [param.address for param in trace.params]
    assert [buffer.address for buffer in loaded.buffers] == [buffer.address for buffer in trace.buffers]
    assert [module.address for module in loaded.modules] == [module.address for module in trace.modules]
    assert [(read.kind, read.op, read.value) for read in loaded.reads] == [
        (read.kind, read.op, read.value) for read in trace.reads
    ]
    assert len(loaded.reads) == 1
    assert loaded.capture_verified == trace.capture_verified
    assert loaded.cost.flops == trace.cost.flops
    assert str(loaded.summary()).split(" · loaded from")[0] == str(trace.summary())
    assert loaded.to_pandas().equals(trace.to_pandas())


def test_tests_on_tensors_are_kept(tmp_path: Path) -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = x * 2
        while x.sum() < 20:
            x = x + 3
        return x if x.max() > 100 else -x

    trace = tl.trace(Run(branch), torch.ones(3))
    loaded = reloaded(trace, tmp_path)
    assert [(test.kind, test.value, test.arm, test.test) for test in loaded.conditionals] == [
        ("if", True, "then", "x.sum() > 0"),
        ("while", True, "body", "x.sum() < 20"),
        ("while", True, "body", "x.sum() < 20"),
        ("while", False, "exit", "x.sum() < 20"),
        ("ifexp", False, "else", "x.max() > 100"),
    ]
    for test, before in zip(loaded.conditionals, trace.conditionals, strict=True):
        assert (test.op, test.span, test.arm_span) == (before.op, before.span, before.arm_span)
        assert test.source is not None
        assert test.source.path is None
        assert str(test.source) == str(before.source)
    again = tl.load(loaded.save(tmp_path / "again.tlspec"))
    assert again.conditionals == loaded.conditionals


def test_source_lines_are_kept_by_base_name(tmp_path: Path) -> None:
    trace = tl.trace(Loop(), torch.randn(5, 2, 3))
    loaded = reloaded(trace, tmp_path)
    relu, before = loaded.find(tl.func("relu"))[0].source, trace.find(tl.func("relu"))[0].source
    assert (relu.file, relu.line, relu.function) == (before.file, before.line, before.function)
    assert relu.file == "test_bundle.py"
    for file in (tmp_path / "a.tlspec").iterdir():
        assert b"tests/unit" not in file.read_bytes()


def test_arguments(tmp_path: Path) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x, dtype=torch.float64, device=torch.device("cpu"), memory_format=torch.contiguous_format)
        y.fill_(float("inf"))
        return torch.cat([y[..., 1:], y.view(torch.Size([2, 3]))[:, :1]], dim=1)

    loaded = reloaded(tl.trace(Run(call), torch.ones(2, 3)), tmp_path)
    calls = {call.name: call for call in loaded._state.records.calls}
    assert calls["empty_like"].kwargs == {
        "dtype": FrameworkValue("dtype", "float64"),
        "device": FrameworkValue("device", "cpu"),
        "memory_format": FrameworkValue("memory_format", "contiguous_format"),
    }
    assert calls["fill_"].args[1] == float("inf")
    assert calls["view"].args[1] == (2, 3)
    assert calls["getitem"].args[1] in [(..., slice(1, None, None)), (slice(None), slice(None, 1, None))]
    first, second = calls["cat"].args[0]
    assert (first.call.name, second.call.name) == ("getitem", "getitem")
    assert calls["cat"].func is None
    assert calls["cat"].meta is not None
    assert calls["cat"].meta["function"].endswith(".cat")


@pytest.mark.parametrize("mode", ["copy", "reference", "view"])
def test_save_modes(mode: str, tmp_path: Path) -> None:
    reloaded(tl.trace(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), torch.randn(2, 3), save_mode=mode), tmp_path)


def test_a_changed_reference_is_not_saved(tmp_path: Path) -> None:
    trace = tl.trace(Run(lambda x: torch.relu(x + 1).add_(1)), torch.randn(2, 3), save_mode="reference")
    with pytest.raises(MutatedReferenceError):
        trace.save(tmp_path / "a.tlspec")
    assert list(tmp_path.iterdir()) == []


def test_values_that_were_not_saved(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    loaded = reloaded(tl.trace(model, torch.randn(2, 3), save=tl.func("tanh")), tmp_path)
    assert [op.func_name for op in loaded.ops if op.payload.saved] == ["tanh"]
    (tmp_path / "none").mkdir()
    reloaded(tl.trace(model, torch.randn(2, 3), save="none"), tmp_path / "none")


def test_a_run_that_failed_can_be_saved(tmp_path: Path) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        raise ArithmeticError(str(y.shape))

    with pytest.raises(ArithmeticError) as caught:
        tl.trace(Run(fail), torch.randn(2, 3))
    loaded = reloaded(caught.value.partial_trace, tmp_path)
    assert loaded.outcome == "failed"


def test_gradients_and_modes(tmp_path: Path) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    trace = tl.trace(nn.Linear(3, 3), x)
    loaded = reloaded(trace, tmp_path)
    assert [op.autograd.requires_grad for op in loaded.ops] == [True, True, True]
    assert loaded.ops[1].autograd.grad_fn == trace.ops[1].autograd.grad_fn
    assert not loaded.ops[1].out.requires_grad
    with torch.inference_mode():
        inner = tl.trace(nn.Linear(3, 3), torch.randn(2, 3))
    inner.save(tmp_path / "inference.tlspec")
    assert torch.equal(tl.load(tmp_path / "inference.tlspec").ops[1].out, inner.ops[1].out)


def test_the_model_runs_on_what_was_loaded(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    loaded = reloaded(tl.trace(model, torch.randn(2, 3)), tmp_path)
    value = loaded.ops["linear_1_1:1"].out
    value.requires_grad_()
    torch.tanh(value).sum().backward()
    assert value.grad is not None
    value.data.zero_()
    assert not torch.equal(loaded.ops["linear_1_1:1"].out, value)


def test_a_device_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tl.trace(nn.Linear(3, 3), torch.randn(2, 3))
    for op in trace._state.records.ops:
        op.device = "cuda:17"
    path = trace.save(tmp_path / "a.tlspec")
    with pytest.raises(ArtifactError) as caught:
        tl.load(path)
    assert caught.value.code == "device_unavailable"
    assert tl.load(path, map_location="cpu").ops[1].out.device.type == "cpu"


def test_a_summary_without_torch(tmp_path: Path) -> None:
    path = tl.trace(Loop(), torch.randn(5, 2, 3)).save(tmp_path / "a.tlspec")
    code = f"""
import sys
sys.modules["torch"] = None
import tl_core
run = tl_core.load({str(path)!r})
print(run.ops[1].label, len(run.ops))
try:
    run.ops[0].out
except tl_core.MissingDependencyError as error:
    print(error.remedy)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "pip install torch"
