"""Values that are no block of elements: a bundle refuses them by name, and holds the rest of the trace without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree

import tl_torch as tl
from tl_core import ArtifactError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Wrapper(Tensor):
    """A tensor that holds another one and has no memory of its own."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Wrapper:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        args, kwargs = _pytree.tree_map_only(cls, lambda one: one.inner, (args, kwargs or {}))
        return _pytree.tree_map_only(Tensor, cls, func(*args, **kwargs))


class Runs(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


KINDS = {
    "a nested tensor": lambda x: torch.nested.as_nested_tensor([x[0], x[1, :2]]),
    "a meta tensor": lambda x: x.to("meta"),
    "a quantized tensor": lambda x: torch.quantize_per_tensor(x, 0.125, 3, torch.quint8),
    "a Wrapper without memory of its own": lambda x: Wrapper(x) + 1,
}


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_is_no_block_of_elements(kind: str, tmp_path: Path) -> None:
    trace = tl.trace(Runs(KINDS[kind]), torch.ones(2, 3))
    with pytest.raises(ArtifactError) as caught:
        trace.save(tmp_path / "run.tlspec")
    assert caught.value.code == "payload_kind_unsupported"
    assert f" is {kind}, which bundles cannot hold" in str(caught.value)
    assert "level='audit'" in caught.value.remedy
    assert not list(tmp_path.iterdir())
    loaded = tl.load(trace.save(tmp_path / "run.tlspec", level="audit"))
    assert [op.label for op in loaded.ops] == [op.label for op in trace.ops]


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_the_rest_of_a_quantized_run_is_saved(tmp_path: Path) -> None:
    model = Runs(lambda x: torch.relu(torch.quantize_per_tensor(x, 0.125, 3, torch.qint8)).dequantize())
    x = torch.tensor([[-1.0, 0.5, 0.3]])
    trace = tl.trace(model, x, save=tl.where(lambda op: not op.dtype.startswith("q")))
    loaded = tl.load(trace.save(tmp_path / "run.tlspec"))
    assert [op.label for op in loaded.ops if op.payload.saved] == ["input_1:1", "dequantize_1_3:1", "output_1:1"]
    assert torch.equal(loaded["dequantize_1"].out, torch.tensor([[0.0, 0.5, 0.25]]))
