"""What is held in the hand: copies and pickles of views, attributes that are not there, things given in wrong places."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import tl_torch as tl
from tl_core import ArgumentTypeError, ArtifactError, FieldUnavailableError, LookupFailedError, SummaryOptions

if TYPE_CHECKING:
    from pathlib import Path

X = torch.ones(2, 3)
MODEL = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())


@pytest.fixture
def trace() -> Any:
    return tl.trace(MODEL, X)


def views(trace: Any) -> list[Any]:
    module = trace.modules["0"]
    return [
        trace, trace.ops, trace.ops[1], trace.layers, trace.layers[1], trace.modules, module, module.calls[0],
        trace.params["0.weight"], trace.buffers["1.running_mean"], trace.graph, trace.cost, trace.autograd,
        trace.ops[1].payload, trace.ops[1].autograd, trace.ops[1].cost, trace.ops[1].distance, trace.ops[1].call,
    ]  # fmt: skip


def test_copies_of_views_are_the_views(trace: Any) -> None:
    for view in views(trace):
        assert copy.copy(view) is view
        assert copy.deepcopy({"kept": view})["kept"] is view
    assert torch.equal(copy.deepcopy(trace.ops[1]).out, trace.ops[1].out)


def test_no_view_is_pickled(trace: Any) -> None:
    for view in views(trace):
        with pytest.raises(ArtifactError) as caught:
            pickle.dumps(view)
        assert caught.value.code == "pickle_unsupported"
        assert "trace.save(path)" in caught.value.remedy
    with pytest.raises(ArtifactError, match="Op is a part of a trace, which holds tensors"):
        pickle.dumps(trace.ops[0])


@pytest.mark.parametrize(
    ("find", "name", "remedy"),
    [
        (lambda t: t.params["0.weight"], "tensor", "param.value"),
        (lambda t: t.params["0.weight"], "numel", "param.size"),
        (lambda t: t.params["0.weight"], "shapes", "closest: param.shape"),
        (lambda t: t.buffers["1.running_var"], "data", "buffer.value"),
        (lambda t: t.buffers["1.running_var"], "zzz", "dir(buffer) lists what there is"),
    ],
)
def test_attributes_that_parameters_and_buffers_lack(trace: Any, find: Any, name: str, remedy: str) -> None:
    with pytest.raises(FieldUnavailableError) as caught:
        getattr(find(trace), name)
    assert caught.value.code == "attribute_missing"
    assert caught.value.remedy == remedy
    assert isinstance(caught.value, AttributeError)


@pytest.mark.parametrize(
    ("given", "said", "remedy"),
    [
        (MODEL[0], "a module (Linear)", "save=tl.module('0') means what it returns"),
        (nn.ReLU(), "a module (ReLU)", "save=tl.module('layer1') means"),
        (torch.relu, "the function 'relu' of torch", "save=tl.func('relu')"),
        (F.relu, "the function 'relu' of torch", "save=tl.func('relu')"),
        ([tl.func("relu"), torch.Tensor.add], "the function 'add' of torch", "save=tl.func('add')"),
    ],
)
def test_parts_of_a_model_are_no_predicates(given: Any, said: str, remedy: str) -> None:
    ran: list[bool] = []
    handle = MODEL.register_forward_pre_hook(lambda *_: ran.append(True))
    with pytest.raises(ArgumentTypeError) as caught:
        tl.trace(MODEL, X, save=given)
    handle.remove()
    assert caught.value.code == "save_invalid"
    assert f"save= was given {said}." in str(caught.value)
    assert remedy in caught.value.remedy
    assert not ran


def test_selectors_that_are_given_the_thing_instead_of_its_name() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        tl.func(torch.relu)  # pyright: ignore[reportArgumentType]
    assert caught.value.remedy == 'tl.func("relu")'
    with pytest.raises(ArgumentTypeError) as caught:
        tl.in_module(nn.Sequential(*[nn.Linear(2, 2)] * 40))  # pyright: ignore[reportArgumentType]
    assert len(str(caught.value).splitlines()[0]) < 140
    assert "(Sequential)" in str(caught.value)


def test_options_of_a_summary() -> None:
    with pytest.raises(ArgumentTypeError, match=r"has no option 'dept'\. Did you mean 'depth'"):
        SummaryOptions(dept=3)  # pyright: ignore[reportCallIssue]


def test_a_path_in_the_home_directory(trace: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    trace.save("~/run.tlspec")
    assert (tmp_path / "run.tlspec" / "manifest.json").exists()
    assert [op.label for op in tl.load("~/run.tlspec").ops] == [op.label for op in trace.ops]


def test_reprs_stay_on_their_lines() -> None:
    model = nn.Sequential()
    model.add_module("a\x1b[2J\nb", nn.BatchNorm1d(3))
    trace: Any = tl.trace(model, X, name="first\nsecond\x07")
    shown = "a\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}b"
    op = trace.find(tl.func("batch_norm"))[0]
    module = trace.modules[1]
    for view in (op, trace.layers[op.layer_label], module, module.calls[0], trace.params[0], trace.buffers[0]):
        assert shown in repr(view)
        assert repr(view).isprintable()
    assert repr(trace).startswith("Trace first\N{REPLACEMENT CHARACTER}second\N{REPLACEMENT CHARACTER} of Sequential")
    assert all(line.isprintable() for line in repr(trace).splitlines())


def test_ops_of_another_trace_are_no_places_in_this_graph(trace: Any) -> None:
    other: Any = tl.trace(MODEL, X)
    assert trace.graph.parents(trace.ops["relu_1_3:1"]) == (trace.ops["batchnorm_1_2:1"],)
    for ask in (trace.graph.parents, trace.graph.children, lambda op: trace.graph.between("input_1", op)):
        with pytest.raises(LookupFailedError) as caught:
            ask(other.ops["relu_1_3:1"])
        assert caught.value.code == "op_of_another_trace"
        assert f"'relu_1_3:1' is an op of another trace than this one ({trace.name!r})." in str(caught.value)
    longer: Any = tl.trace(nn.Sequential(MODEL, MODEL[2], MODEL[2], nn.Tanh(), nn.Tanh()), X)
    with pytest.raises(LookupFailedError, match="another trace"):
        trace.graph.parents(longer.ops[-1])


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("head", "trace.params[:5]"),
        ("values", "for one in trace.params: ..., or list(trace.params)"),
        ("to_pandas", "trace.to_pandas(), one row for each op"),
        ("itms", "closest: list.items"),
    ],
)
def test_what_collections_do_not_do_is_told_otherwise(trace: Any, name: str, remedy: str) -> None:
    with pytest.raises(FieldUnavailableError) as caught:
        getattr(trace.params, name)
    assert caught.value.code == "attribute_missing"
    assert remedy in caught.value.remedy
    assert not isinstance(getattr(trace.params, "_repr_html_", 0), str)


@pytest.mark.parametrize("key", [slice("a", None), slice(0, 9, 0), slice(1.5, None)])
def test_slices_take_whole_numbers(trace: Any, key: slice) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        trace.layers[key]
    assert caught.value.code == "lookup_key_invalid"
    assert str(caught.value).startswith(f"trace.layers[{key.start!r}:{key.stop!r}:{key.step!r}]: slice ")
