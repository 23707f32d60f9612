"""Models that do unusual but legal things: each runs as it would without a trace, and its graph stays connected."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
import warnings

import pytest
import torch
import torch.nn.functional as F
from graphs import edges, named, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.arange(12.0).reshape(3, 4) / 12
OUTSIDE = nn.Linear(4, 4)


def agrees(model: nn.Module, *inputs: object) -> object:
    """Trace a model and check its output against a plain forward of a copy from the same seed."""
    plain = copy.deepcopy(model)
    torch.manual_seed(2)
    expected = plain(*inputs)
    torch.manual_seed(2)
    trace = tl.trace(model, inputs)
    assert trace.outcome == "complete"
    outputs = [op.out for op in trace.outputs]
    expected = [expected] if isinstance(expected, Tensor) else list(expected)
    assert len(outputs) == len(expected)
    for value, other in zip(outputs, expected, strict=True):
        assert torch.equal(value, other)
    return trace


class Holds(nn.Module):
    """Calls a function with itself."""

    def __init__(self, forward: object) -> None:
        super().__init__()
        self.function = forward

    def forward(self, *args: object) -> object:
        return self.function(*args)


def reaches_the_input(trace: object) -> None:
    """Every output has to descend from an input."""
    for op in trace.outputs:
        assert op.distance.min_from_input is not None, op.label


def test_modules_in_a_plain_list() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4), nn.ReLU()]

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    trace = agrees(Hidden(), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["linear", "relu"]
    reaches_the_input(trace)


def test_module_that_does_not_belong_to_the_model() -> None:
    trace = agrees(Holds(lambda x: OUTSIDE(x) * 2), X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["linear", "mul"]
    reaches_the_input(trace)


def test_module_made_during_the_run() -> None:
    def forward(x: Tensor) -> Tensor:
        layer = nn.Linear(4, 2)
        return layer(x)

    trace = agrees(Holds(forward), X)
    assert trace[-1].shape == (3, 2)
    reaches_the_input(trace)


def test_lazy_module_attached_during_the_run() -> None:
    class Grows(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.lazy = nn.LazyLinear(2)
            return self.lazy(x)

    trace = agrees(Grows(), X)
    reaches_the_input(trace)


def test_parameter_replaced_during_the_run() -> None:
    class Replaces(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            y = x * self.weight
            self.weight = nn.Parameter(torch.full((4,), 2.0))
            return y * self.weight

    reaches_the_input(agrees(Replaces(), X))


def test_forward_assigned_on_the_instance() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    layer = model[0]
    layer.forward = lambda x: F.linear(x, layer.weight) * 3
    torch.manual_seed(0)
    trace = tl.trace(model, X)
    assert torch.equal(trace[-1].out, model(X))
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["linear", "mul", "relu"]
    assert named(trace)["mul.1"].module == "0"


def test_call_that_is_overridden() -> None:
    class Calls(nn.Module):
        def __call__(self, x: Tensor) -> Tensor:
            return super().__call__(x + 1)

        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    trace = agrees(nn.Sequential(Calls()), X)
    assert edges(trace)["mul.1"] == ["add.1"]


def test_spectral_norm_writes_its_vectors() -> None:
    model = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)).train()
    trace = agrees(model, X)
    reaches_the_input(trace)
    assert trace.capture_verified is True


def test_weight_norm() -> None:
    trace = agrees(nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), X)
    assert len(edges(trace)["linear.1"]) == 2


def test_embedding_that_renormalises_its_weight() -> None:
    model = nn.Embedding(5, 3, max_norm=0.1)

    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = model

        def forward(self, tokens: Tensor) -> Tensor:
            with torch.no_grad():
                return self.embed(tokens).sum() + self.embed.weight.sum()

    trace = agrees(Reads(), torch.tensor([1, 2]))
    parents = edges(trace)
    assert "embedding.1" in parents["sum.2"], "the weight was written by the lookup"


def test_packed_sequences() -> None:
    class Packs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.core = nn.GRU(4, 3, batch_first=True)

        def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            output, _ = self.core(packed)
            padded, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
            return padded

    trace = agrees(Packs(), torch.randn(2, 3, 4), torch.tensor([3, 2]))
    reaches_the_input(trace)


def test_named_results() -> None:
    def forward(x: Tensor) -> tuple[Tensor, ...]:
        best = x.topk(2, dim=1)
        top = x.max(dim=0)
        assert type(best) is torch.return_types.topk
        values, inverse = torch.unique(x > 0.3, return_inverse=True)
        return best.values, best.indices, top.values, values, inverse

    trace = agrees(Holds(forward), X)
    parents = edges(trace)
    assert [parents[f"output.{k}"] for k in range(1, 6)] == [
        ["topk.1"],
        ["topk.2"],
        ["max.1"],
        ["unique.1"],
        ["unique.2"],
    ]


def test_python_iteration_and_builtins() -> None:
    def forward(x: Tensor) -> Tensor:
        first, second, third = x
        total = sum([first, second, third])
        for row in x:
            total = total + row
        return total + max(len(x), 2) + torch.stack(list(x)).sum(0)

    trace = agrees(Holds(forward), X)
    reaches_the_input(trace)
    (rows,) = {tuple(op.parents) for op in trace.ops if op.func_name in {"unbind", "iter"}}
    assert rows == ("input_1:1",)


def test_composites_that_return_lists() -> None:
    def forward(x: Tensor) -> tuple[Tensor, ...]:
        a, b = torch.meshgrid(x[0], x[1], indexing="ij")
        c, d = torch.broadcast_tensors(x[0], x)
        return a, b, c, d, torch.cartesian_prod(x[0], x[1]), torch.block_diag(x, x)

    reaches_the_input(agrees(Holds(forward), X))


def test_fourier_transforms_and_complex_numbers() -> None:
    def forward(x: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x)
        window = torch.hann_window(4)
        short = torch.stft(x.reshape(-1), 4, window=window, return_complex=True)
        return (spectrum * 1j).abs().sum() + short.abs().sum()

    reaches_the_input(agrees(Holds(forward), X))


def test_sparse_tensors_made_inside() -> None:
    def forward(x: Tensor) -> Tensor:
        sparse = (x * 2).to_sparse()
        return torch.sparse.mm(sparse, x.t())

    trace = agrees(Holds(forward), X)
    reaches_the_input(trace)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_quantized_tensors_made_inside() -> None:
    def forward(x: Tensor) -> Tensor:
        return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize() + 1

    reaches_the_input(agrees(Holds(forward), X))


def test_structures_that_hold_themselves() -> None:
    class Reads(nn.Module):
        def forward(self, loop: list[object]) -> Tensor:
            return loop[0] * 2

    loop: list[object] = [X]
    loop.append(loop)
    trace = tl.trace(Reads(), (loop,))
    assert torch.equal(trace[-1].out, X * 2)

    def forward(x: Tensor) -> dict[str, object]:
        answer: dict[str, object] = {"y": x + 1}
        answer["self"] = answer
        return answer

    trace = run(forward, X)
    assert [op.io_role for op in trace.outputs] == ["output.y"]


def test_attributes_that_raise_when_touched() -> None:
    class Prickly(nn.Module):
        @property
        def broken(self) -> object:
            raise RuntimeError("touched")

        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    class Answer:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(f"touched {name}")

    agrees(Prickly(), X)
    assert run(lambda x: Answer(), X).outcome == "complete"


def test_functional_call_with_other_parameters() -> None:
    inner = nn.Linear(4, 4)

    class Meta(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            faster = {name: value * 0.5 for name, value in self.inner.named_parameters()}
            return torch.func.functional_call(self.inner, faster, (x,))

    trace = agrees(Meta(), X)
    assert edges(trace)["linear.1"] == ["input.1", "mul.1", "mul.2"]
    assert named(trace)["linear.1"].module == "inner"


def test_functional_transforms() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        slope = torch.func.grad(lambda v: (v**3).sum())(x)
        rows = torch.vmap(lambda row: row * row.sum())(x)
        return slope + 1, rows + 1

    trace = agrees(Holds(forward), X)
    parents = edges(trace)
    names = named(trace)
    for k in (1, 2):
        (parent,) = parents[f"output.{k}"]
        assert names[parent].func_name == "add"
        assert len(parents[parent]) == 1


def test_autograd_function_that_writes_in_place() -> None:
    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(context: object, x: Tensor) -> Tensor:
            context.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(context: object, gradient: Tensor) -> Tensor:
            return gradient * 2

    def forward(x: Tensor) -> Tensor:
        y = x + 1
        z = Doubles.apply(y)
        return z + y

    trace = agrees(Holds(forward), X)
    reaches_the_input(trace)


def test_backward_and_gradient_hooks_inside() -> None:
    seen: list[int] = []

    class Learns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            y = self.linear(x)
            y.register_hook(lambda gradient: seen.append(1))
            y.sum().backward()
            return y.detach() + self.linear.weight.grad.sum()

    trace = tl.trace(Learns(), X)
    assert seen == [1]
    reaches_the_input(trace)


def test_dispatch_modes_of_the_user() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    model = nn.Linear(4, 4)
    with FlopCounterMode(display=False) as counter:
        trace = tl.trace(model, X)
    assert counter.get_total_flops() == 2 * 3 * 4 * 4
    assert edges(trace)["linear.1"] == ["input.1"]
    assert torch.equal(trace[-1].out, model(X))


def test_profiler_of_the_user() -> None:
    with torch.autograd.profiler.profile() as profile:
        trace = tl.trace(nn.Linear(4, 4), X)
    assert trace.outcome == "complete"
    assert any("linear" in event.name for event in profile.function_events)


def test_tensor_subclass_with_a_function_of_its_own() -> None:
    class Logged(Tensor):
        calls: list[str] = []  # noqa: RUF012 - one log for all

        @classmethod
        def __torch_function__(
            cls, func: object, types: object, args: tuple = (), kwargs: dict | None = None
        ) -> object:
            cls.calls.append(getattr(func, "__name__", "?"))
            return super().__torch_function__(func, types, args, kwargs or {})

    def forward(x: Tensor) -> Tensor:
        return torch.tanh(x.as_subclass(Logged)).as_subclass(Tensor) + 1

    trace = run(forward, X)
    assert torch.equal(trace[-1].out, torch.tanh(X) + 1)
    assert "tanh" in Logged.calls


def test_work_on_another_thread_is_told() -> None:
    def forward(x: Tensor) -> Tensor:
        results: list[Tensor] = []
        worker = threading.Thread(target=lambda: results.append(torch.tanh(x)))
        worker.start()
        worker.join()
        return results[0] * 2

    trace = agrees(Holds(forward), X)
    assert trace.capture_verified is False
    assert trace.capture_verification_reason != "provenance_complete"
    assert len(trace.gaps) >= 1


def test_other_threads_do_not_leak_into_the_trace() -> None:
    stop = threading.Event()

    def noise() -> None:
        while not stop.is_set():
            torch.sinc(nn.Linear(2, 2)(torch.ones(1, 2)))

    worker = threading.Thread(target=noise)
    worker.start()
    try:
        trace = run(lambda x: [x := x + 1 for _ in range(50)][-1], X)
    finally:
        stop.set()
        worker.join()
    assert {op.func_name for op in trace.ops if op.kind == "op"} == {"add"}


def test_random_generator_of_its_own() -> None:
    generator = torch.Generator().manual_seed(3)
    expected = torch.rand(4, generator=torch.Generator().manual_seed(3))
    trace = run(lambda x: x[0] * 0 + torch.rand(4, generator=generator), X)
    assert torch.equal(trace[-1].out, expected)


def test_copies_made_inside() -> None:
    def forward(x: Tensor) -> Tensor:
        y = copy.copy(x * 2)
        z = copy.deepcopy((x + 1).detach())
        return y + z

    trace = agrees(Holds(forward), X)
    reaches_the_input(trace)


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_compiled_part_of_a_model() -> None:
    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = torch.compile(nn.Linear(4, 4), backend="eager")

        def forward(self, x: Tensor) -> Tensor:
            return self.part(x) + 1

    model = Partly()
    trace = tl.trace(model, X)
    assert torch.allclose(trace[-1].out, model(X))
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["linear", "add"]
    reaches_the_input(trace)


@pytest.mark.parametrize("steps", [300])
def test_long_loops_keep_exact_edges(steps: int) -> None:
    def forward(x: Tensor) -> Tensor:
        for _ in range(steps):
            x = torch.sin(x) + 0.1
        return x

    trace = agrees(Holds(forward), X)
    parents = edges(trace)
    assert parents[f"sin.{steps}"] == [f"add.{steps - 1}"]
    assert parents[f"add.{steps}"] == [f"sin.{steps}"]
    assert {op.num_passes for op in trace.ops if op.kind == "op"} == {steps}


def test_rows_of_different_lengths() -> None:
    def forward(x: Tensor) -> Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls them a prototype
            rows = torch.nested.nested_tensor([x[0, :2], x[1]])
        return torch.nested.to_padded_tensor(rows, 0.0) * 2

    x = torch.arange(6.0).reshape(2, 3)
    trace = run(forward, x)
    assert trace[-1].out.tolist() == [[0, 2, 0], [6, 8, 10]]
    assert trace.capture_verification_reason == "unseen_source", "no seam shows how they were made"


LONG_CHAIN = """
import torch, tl_torch as tl
class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        for _ in range(60_000):
            x = x * self.scale
        return x
for options in ({"save": "none"}, {"capture": tl.CaptureOptions(detach_saved_activations=True)}):
    trace = tl.trace(Chain(), torch.ones(2), **options)
    assert len(trace.ops) == 60_002
    del trace
"""


LAST_HOLDER = """
import torch, tl_torch as tl
class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(2, 2)
    def forward(self, x):
        h = torch.zeros(1, 2)
        for _ in range(17_000):
            h = torch.tanh(self.cell(x, h) * 0.9 + x.relu().sum())
        return h
trace = tl.trace(Recurrent(), torch.ones(1, 2))
op = trace.ops[-1]
del trace
print("an op", flush=True)
del op
print("a loop", flush=True)
for op in tl.trace(Recurrent(), torch.ones(1, 2)).ops:
    pass
del op
trace = tl.trace(Recurrent(), torch.ones(1, 2))
print("cleanup", flush=True)
trace.cleanup()
"""


def test_a_long_chain_is_freed_whoever_holds_the_trace_last() -> None:
    finished = subprocess.run([sys.executable, "-c", LAST_HOLDER], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, (finished.stdout, finished.stderr)


def test_a_long_chain_of_gradients_is_freed_without_overflowing_the_stack() -> None:
    finished = subprocess.run([sys.executable, "-c", LONG_CHAIN], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
