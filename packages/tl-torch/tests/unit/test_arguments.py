"""Tensors in every kind of argument and container."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from graphs import Network, edges, graph, named, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.arange(4.0)
Pair = namedtuple("Pair", ["left", "right"])


@dataclass
class Batch:
    """A dataclass of tensors and other things."""

    data: Tensor
    extra: dict[str, Tensor]
    note: str = "none"


class Output(OrderedDict):
    """An ordered dict whose items are attributes too, as model libraries return them."""

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


class Cache:
    """Keys and values of earlier steps, held in lists as model libraries do."""

    def __init__(self) -> None:
        self.keys: list[Tensor] = []

    def update(self, key: Tensor) -> Tensor:
        self.keys.append(key)
        return torch.cat(self.keys)


def test_nested_containers_as_arguments_of_torch_functions() -> None:
    def forward(x: Tensor) -> Tensor:
        parts = [x, x * 2, (x + 1)]
        both = torch.stack(parts)
        return torch.einsum("ij,kj->ik", [both, torch.cat([x, x]).view(2, 4)])

    assert graph(forward, X) == {
        "input.1": [],
        "mul.1": ["input.1"],
        "add.1": ["input.1"],
        "stack.1": ["input.1", "mul.1", "add.1"],
        "cat.1": ["input.1"],
        "view.1": ["cat.1"],
        "einsum.1": ["stack.1", "view.1"],
        "output.1": ["einsum.1"],
    }


def test_keyword_arguments_of_torch_functions() -> None:
    def forward(x: Tensor) -> Tensor:
        weight = x * 2
        return torch.nn.functional.linear(weight=weight, input=x + 1)

    parents = graph(forward, X)
    assert sorted(parents["linear.1"]) == ["add.1", "mul.1"]


def test_order_of_parents_is_order_of_arguments() -> None:
    def forward(x: Tensor) -> Tensor:
        a, b = x * 2, x + 1
        return torch.where(b > 0, b, a)

    assert graph(forward, X)["where.1"] == ["gt.1", "add.1", "mul.1"]


def test_index_with_tensors_in_a_tuple() -> None:
    def forward(x: Tensor) -> Tensor:
        rows = torch.tensor([0, 1])
        return x.view(2, 2)[rows, rows]

    assert graph(forward, X)["getitem.1"] == ["view.1", "tensor.1"]


class Structured(nn.Module):
    """Takes every kind of structure."""

    def forward(self, pair: Pair, batch: Batch, options: dict[str, list[Tensor]], *, scale: Tensor) -> Tensor:
        total = pair.left + pair.right
        total = total + batch.data + batch.extra["bias"]
        return total * scale + options["more"][1]


def structured_trace() -> object:
    pair = Pair(X, X + 1)
    batch = Batch(X + 2, {"bias": X + 3})
    options = {"more": [X + 4, X + 5]}
    return tl.trace(Structured(), (pair, batch, options), {"scale": X + 6})


def test_tensors_inside_structured_inputs_are_inputs() -> None:
    trace = structured_trace()
    inputs = {op.address: op.out.tolist() for op in trace.ops if op.kind == "input"}
    assert inputs == {
        "pair.left": [0, 1, 2, 3],
        "pair.right": [1, 2, 3, 4],
        "batch.data": [2, 3, 4, 5],
        "batch.extra.bias": [3, 4, 5, 6],
        "options.more.0": [4, 5, 6, 7],
        "options.more.1": [5, 6, 7, 8],
        "scale": [6, 7, 8, 9],
    }


def test_readers_of_structured_inputs_have_them_as_parents() -> None:
    trace = structured_trace()
    parents = edges(trace)
    at = {op.address: name for name, op in named(trace).items() if op.kind == "input"}
    assert parents["add.1"] == [at["pair.left"], at["pair.right"]]
    assert parents["add.2"] == ["add.1", at["batch.data"]]
    assert parents["add.3"] == ["add.2", at["batch.extra.bias"]]
    assert parents["mul.1"] == ["add.3", at["scale"]]
    assert parents["add.4"] == ["mul.1", at["options.more.1"]]
    roles = [op.io_role for op in trace.inputs]
    assert roles[0] == "input.pair.left"
    assert roles[3:6] == ["input.batch.extra.bias", "input.options.more.0", "input.options.more.1"]


class TwoInputs(nn.Module):
    """Two tensors, one of them optional."""

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        return x if y is None else x - y


@pytest.mark.parametrize(
    ("inputs", "keywords"),
    [
        ((X, X + 1), None),
        ([X, X + 1], None),
        (X, {"y": X + 1}),
        ((X,), {"y": X + 1}),
        ((), {"x": X, "y": X + 1}),
        (None, {"x": X, "y": X + 1}),
    ],
)
def test_forms_of_giving_inputs(inputs: object, keywords: dict[str, Tensor] | None) -> None:
    trace = tl.trace(TwoInputs(), inputs, keywords)
    assert [op.io_role for op in trace.ops if op.kind == "input"] == ["input.x", "input.y"]
    assert trace[-1].out.tolist() == [-1, -1, -1, -1]


def test_a_dict_is_one_positional_argument() -> None:
    def forward(batch: dict[str, Tensor]) -> Tensor:
        return batch["a"] - batch["b"]

    trace = run_dict(forward)
    assert trace[-1].out.tolist() == [-1, -1, -1, -1]


def run_dict(forward: object) -> object:
    class Model(nn.Module):
        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            return forward(batch)

    return tl.trace(Model(), {"a": X, "b": X + 1})


def test_no_inputs_at_all_when_said_so() -> None:
    class Constant(nn.Module):
        def forward(self) -> Tensor:
            return torch.ones(3) * 2

    trace = tl.trace(Constant(), ())
    assert trace[-1].out.tolist() == [2, 2, 2]


def test_the_same_tensor_given_twice() -> None:
    trace = tl.trace(TwoInputs(), (X, X))
    assert trace[-1].out.tolist() == [0, 0, 0, 0]
    assert edges(trace)["sub.1"] in (["input.1"], ["input.1", "input.2"])


def test_attribute_dict_as_the_value_between_modules() -> None:
    class Inner(nn.Module):
        def forward(self, x: Tensor) -> Output:
            return Output(logits=x * 2, hidden=(x + 1, x + 2))

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: Tensor) -> Output:
            out = self.inner(x)
            return Output(logits=out.logits + out.hidden[1], hidden=out.hidden)

    trace = tl.trace(Outer(), X)
    parents = edges(trace)
    assert parents["add.3"] == ["mul.1", "add.2"]
    roles = [op.io_role for op in trace.ops if op.kind == "output"]
    assert roles == ["output.logits", "output.hidden.0", "output.hidden.1"]
    assert [parents[f"output.{k}"] for k in (1, 2, 3)] == [["add.3"], ["add.1"], ["add.2"]]


def test_cache_object_filled_during_the_run() -> None:
    def forward(x: Tensor) -> Tensor:
        cache = Cache()
        cache.update(x * 2)
        return cache.update(x + 1)

    parents = graph(forward, X)
    assert parents["cat.1"] == ["mul.1"]
    assert parents["cat.2"] == ["mul.1", "add.1"]


def test_cache_object_given_with_tensors_inside() -> None:
    class Step(nn.Module):
        def forward(self, x: Tensor, cache: Cache) -> Tensor:
            return cache.update(x * 2)

    cache = Cache()
    cache.update(X + 10)
    held = cache.keys[0]
    trace = tl.trace(Step(), (X, cache))
    parents = edges(trace)
    assert len(parents["cat.1"]) == 2
    source = named(trace)[parents["cat.1"][0]]
    assert source.kind in {"input", "constant"}
    assert torch.equal(source.out, held)
    assert cache.keys[0] is held, "the user's own object was used"


def test_plain_object_with_tensors_as_input() -> None:
    class Reads(nn.Module):
        def forward(self, holder: SimpleNamespace) -> Tensor:
            return holder.x * 2

    trace = tl.trace(Reads(), (SimpleNamespace(x=X),))
    (parent,) = edges(trace)["mul.1"]
    assert named(trace)[parent].kind in {"input", "constant"}


class Held(nn.Module):
    """Tensors in Python containers on the model: neither parameters nor buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.table = [X + 1, {"deep": (X + 2,)}]
        self.single = X + 3

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[0] + self.table[1]["deep"][0] + self.single


def test_tensors_in_containers_on_the_model_are_sources_with_their_place() -> None:
    trace = tl.trace(Held(), X)
    parents = edges(trace)
    sources = [parents[f"add.{k}"][1] for k in (1, 2, 3)]
    ops = named(trace)
    assert [ops[name].kind for name in sources] == ["constant"] * 3
    assert all(ops[name].parents == () for name in sources)
    assert [ops[name].out.tolist()[0] for name in sources] == [1, 2, 3]
    assert [ops[name].address for name in sources] == ["table.0", "table.1.deep.0", "single"]


def test_positional_and_keyword_of_a_nested_module() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = TwoInputs()

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x * 2, y=x + 1)

    parents = graph_of(Outer())
    assert parents["sub.1"] == ["mul.1", "add.1"]


def graph_of(model: nn.Module) -> dict[str, list[str]]:
    return edges(tl.trace(model, X))


def test_a_list_that_the_model_changes_is_the_users_own() -> None:
    seen: list[Tensor] = []

    class Appends(nn.Module):
        def forward(self, x: Tensor, log: list[Tensor]) -> Tensor:
            log.append(x * 2)
            return log[0] + 1

    trace = tl.trace(Appends(), (X, seen))
    assert len(seen) == 1
    assert seen[0].tolist() == [0, 2, 4, 6]
    assert type(seen[0]) is Tensor
    assert edges(trace)["add.1"] == ["mul.1"]


def test_tensors_from_numpy_inside_the_forward() -> None:
    import numpy as np

    array = np.arange(4.0, dtype=np.float32)
    trace = run(lambda x: x + torch.from_numpy(array), X)
    (_, source) = edges(trace)["add.1"]
    assert named(trace)[source].out.tolist() == [0, 1, 2, 3]


def test_numbers_of_numpy_are_numbers() -> None:
    def forward(x: Tensor) -> Tensor:
        return x / np.sqrt(16.0) * np.float32(2) + np.int64(1)

    trace = run(forward, X)
    assert [op.call.args[1] for op in trace.ops if op.kind == "op"] == [4.0, 2.0, 1]
    assert trace.outputs[0].out.tolist() == [1, 1.5, 2, 2.5]
    assert tl.validate(Network(forward), X)
