"""Names of functions in a bundle: they lead back to the function, and to nothing that does more than compute."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tl_core import FrameworkValue
from tl_torch._backend import TorchBackend
from tl_torch._identity import _tables

BACKEND = TorchBackend()
T = torch.Tensor

NAMES = {
    "torch.conv2d": torch.conv2d,
    "torch.Tensor.add_": T.add_,
    "torch.Tensor.__getitem__": T.__getitem__,
    "torch.Tensor.__rsub__": T.__rsub__,
    "torch.Tensor.T.__get__": T.T.__get__,
    "torch.Tensor.data.__set__": T.data.__set__,
    "torch.Tensor.unflatten": T.unflatten,
    "torch.nn.functional.max_pool2d": F.max_pool2d,
    "torch.nn.functional.hardswish": F.hardswish,
    "torch.nn.functional.gelu": F.gelu,
    "torch.nn.functional.linear": torch._C._nn.linear,
    "torch.linalg.norm": torch.linalg.norm,
    "torch.fft.fft": torch.fft.fft,
    "torch.special.expit": torch.special.expit,
    "torch.nn.init.trunc_normal_": torch.nn.init.trunc_normal_,
    "torch.tensor": torch.tensor,
    "torch.randn_like": torch.randn_like,
    "torch._foreach_add_": torch._foreach_add_,
    "torch._weight_norm": torch._weight_norm,
    "torch.ops.aten.linear": torch.ops.aten.linear,
    "torch.ops.aten.add.Tensor": torch.ops.aten.add.Tensor,
    "torch.autograd.grad": torch.autograd.grad,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_leads_back(name: str) -> None:
    assert BACKEND.identify(NAMES[name]) == name
    assert BACKEND.resolve(name) == NAMES[name]


def test_every_name_leads_back() -> None:
    functions, _ = _tables()
    assert len(functions) > 1500
    lost = [name for name, function in functions.items() if BACKEND.resolve(BACKEND.identify(function)) != function]
    assert lost == []


OTHERS = """
torch.load torch.save torch.hub.load torch.jit.load torch.from_file torch.compile torch.package torch.serialization.load
torch.ops.load_library torch.ops.aten.from_file torch.ops.aten._print torch.ops.aten.__init__ torch.ops.other.op
torch.Tensor.__reduce_ex__ torch.Tensor.__setstate__ torch.Tensor.__torch_function__ torch.Tensor.__init__
torch.Tensor.__class__ torch.Tensor.backward torch.Tensor.register_hook torch.Tensor.map_ torch.Tensor.apply_
torch.Tensor.numpy torch.Tensor.item torch.Tensor.data_ptr torch.Tensor.share_memory_ torch.Tensor._make_subclass
torch.Tensor.as_subclass torch.Tensor.module_load torch.nn.functional.torch torch.nn.functional.warnings
torch.nn.functional.handle_torch_function torch.nn.functional.boolean_dispatch torch.nn.init.torch torch.manual_seed
torch.set_default_dtype torch.set_num_threads torch.autograd.backward torch.frombuffer torch.distributed.all_reduce
torch.Tensor torch torch. .relu relu os.system subprocess.run builtins.eval operator.attrgetter
"""


@pytest.mark.parametrize("name", [*OTHERS.split(), ""])
def test_a_name_of_anything_else_leads_nowhere(name: str) -> None:
    assert BACKEND.resolve(name) is None


def test_functions_that_are_not_torchs_have_no_way_back() -> None:
    assert BACKEND.identify(len) is None
    assert BACKEND.identify(lambda x: x) is None

    class Called:
        __hash__ = None

        def __call__(self) -> None: ...

    assert BACKEND.identify(Called()) is None


def test_values_of_torch_by_name() -> None:
    given = [
        FrameworkValue("dtype", "bfloat16"), FrameworkValue("device", "cpu"), FrameworkValue("layout", "strided"),
        FrameworkValue("memory_format", "channels_last"), FrameworkValue("type", "float"),
    ]  # fmt: skip
    expected = [torch.bfloat16, torch.device("cpu"), torch.strided, torch.channels_last, float]
    assert [BACKEND.revive(value) for value in given] == expected
    unknown = FrameworkValue("dtype", "load")
    assert BACKEND.revive(unknown) is unknown
    assert BACKEND.revive(FrameworkValue("type", "eval")) == FrameworkValue("type", "eval")
