"""Tensors without ordinary dense memory, in the inputs or in the model: every one is listed with its place."""

from __future__ import annotations

import warnings

import pytest
import torch
from refusals import Guarded, refused
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import tl_core
import tl_torch as tl

X = torch.ones(2, 4)


def fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(2, 4)


def functional() -> torch.Tensor:
    return torch._to_functional_tensor(torch.ones(2, 4))


def meta() -> torch.Tensor:
    return torch.ones(2, 4, device="meta")


def sparse() -> torch.Tensor:
    return torch.ones(2, 4).to_sparse()


def sparse_rows() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ones(2, 4).to_sparse_csr()


KINDS = [fake, functional, meta, sparse, sparse_rows]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_in_the_inputs(kind: object) -> None:
    model = Guarded()
    error = refused(lambda: tl.trace(model, kind()), model)
    assert isinstance(error, tl_core.UnsupportedTensorVariantError)
    assert isinstance(error, RuntimeError)
    assert error.code == "unsupported_tensor_variant"


def places(error: tl_core.TorchLensError) -> str:
    return repr(error.fields["offenses"])


def test_every_offender_is_listed_with_its_place() -> None:
    model = Guarded()
    inputs = (X, {"a": [meta(), X], "b": sparse()})
    error = refused(lambda: tl.trace(model, inputs, {"mask": fake()}), model)
    assert len(error.fields["offenses"]) == 3
    for part in ("a", "b", "mask"):
        assert part in places(error)
    for kind in ("meta", "sparse", "fake"):
        assert kind in str(error).lower()


def test_in_parameters_and_buffers() -> None:
    part = nn.Linear(4, 2)
    part.register_buffer("table", sparse())
    part.bias = nn.Parameter(torch.ones(2, device="meta"))
    model = Guarded(part)
    with pytest.raises(tl_core.UnsupportedTensorVariantError) as caught:
        tl.trace(model, X)
    assert model.runs == 0
    assert len(caught.value.fields["offenses"]) == 2
    assert "part.bias" in places(caught.value)
    assert "part.table" in places(caught.value)


def test_a_model_on_meta_alone() -> None:
    with torch.device("meta"):
        part = nn.Linear(4, 2)
    model = Guarded(part)
    with pytest.raises(tl_core.UnsupportedTensorVariantError) as caught:
        tl.trace(model, X)
    assert model.runs == 0
    assert len(caught.value.fields["offenses"]) == 2


def test_fake_tensors_in_both() -> None:
    with FakeTensorMode():
        part = nn.Linear(4, 2)
        x = torch.ones(2, 4)
    model = Guarded(part)
    with pytest.raises(tl_core.UnsupportedTensorVariantError) as caught:
        tl.trace(model, x)
    assert model.runs == 0
    assert len(caught.value.fields["offenses"]) == 3


def test_nested_tensor() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(1, 4)])
    model = Guarded()
    with pytest.raises(tl_core.UnsupportedTensorVariantError):
        tl.trace(model, nested)
    assert model.runs == 0
