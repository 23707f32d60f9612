"""Validation of a trace where it is loaded: the model is gone, and every op runs again from what the bundle holds."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from programs import Program, judged_programs
from tampering import change_bytes, change_tables, forge
from ten_networks import BUILDERS, build
from torch import nn

import tl_torch as tl
from tl_core import ArtifactError, ConfigurationError, TorchLensWarning, records_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FULL = tl.CaptureOptions(save_args=True, save_rng=True)
EXECUTABLE = "executable_with_callables"
X = torch.arange(1.0, 7.0).reshape(2, 3)


class Runs(nn.Module):
    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def reloaded(model: nn.Module, inputs: Any, folder: Path, **options: Any) -> Any:
    run = tl.trace(model, inputs, capture=FULL)
    return tl.load(run.save(folder / "run.tlspec", level=EXECUTABLE), **options)


def proved(trace: Any) -> bool:
    verdict = trace.validate_forward_pass([])
    assert verdict is True, tl.last_validation_failure() or verdict.unverified_reason_counts
    return verdict


@pytest.mark.parametrize("network", BUILDERS)
def test_ten_networks(network: str, tmp_path: Path) -> None:
    case = build(network)
    live = tl.trace(case.model, case.args, capture=FULL)
    path = live.save(tmp_path / "run.tlspec", level=EXECUTABLE)
    del case
    for how, loaded in (("lazy", tl.load(path)), ("eager", tl.load(path, lazy=False))):
        before = loaded.validation_replay_status
        assert before.payload_load_status == how
        assert (before.state, before.source, before.available) == ("available", "loaded", True)
        assert proved(loaded)
        after = loaded.validation_replay_status
        assert (after.state, after.source, after.payload_load_status) == ("passed", "loaded", how)
        assert live.validate_forward_pass([]) is True
        expected = live.validation_replay_status
        assert after.replayed_node_count == expected.replayed_node_count
        assert after.perturbed_parent_count == expected.perturbed_parent_count
        assert after.decisions == expected.decisions


class Loop(nn.Module):
    """A cell run over time that writes its results in place, through views and into a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, 4), nn.Linear(4, 2)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = x.new_zeros(x.shape[0], 4)
        kept = torch.empty(x.shape[1], x.shape[0], 4)
        for step in range(x.shape[1]):
            state = self.cell(F.dropout(x[:, step], 0.25, True), state)
            kept[step] = state
            self.steps.add_(1)
        kept[1:].mul_(0.5)
        best, _ = kept.max(dim=0)
        return self.head(best) / self.steps, kept.sum()


def test_a_loop_with_writes_in_place(tmp_path: Path) -> None:
    model, x = Loop(), torch.randn(2, 5, 3)
    outputs = list(model(x))
    model.steps.zero_()
    torch.manual_seed(0)
    loaded = reloaded(model, x, tmp_path)
    model.steps.zero_()
    torch.manual_seed(0)
    outputs = list(model(x))
    assert loaded.validate_forward_pass(outputs) is True, tl.last_validation_failure()
    with pytest.warns(TorchLensWarning):
        assert loaded.validate_forward_pass([outputs[0] + 1, outputs[1]]) is False
    assert tl.last_validation_failure().check == "ground_truth"


def arguments_of_many_kinds(self: Any, x: torch.Tensor) -> Any:
    generator = torch.Generator().manual_seed(3)
    y = torch.empty_like(x, dtype=torch.float64, device=torch.device("cpu"), memory_format=torch.contiguous_format)
    y.fill_(float("inf")).copy_(x)
    y = torch.cat([y[..., 1:], y.view(torch.Size([2, 3]))[:, None, :1].squeeze(1)], dim=1)
    y = y + torch.rand(3, generator=generator).to(float) + torch.full((), 2, dtype=torch.int16)
    y = torch.where(y > 4.5, y, torch.zeros((), dtype=torch.double)) + torch.tensor([[1.0, 2.0, 3.0]])
    z = torch.complex(y, y.flip(0)) * (1 + 2j)
    picked = z[[1, 0], torch.tensor([0, 2])].abs()
    image = x.expand(2, 2, 3)[None].contiguous(memory_format=torch.channels_last)
    parts = torch.stack(torch.aminmax(y, dim=1), dim=0), *torch.split(y, [1, 2], dim=1)
    best = torch.topk(y, k=2, dim=-1, largest=True, sorted=True)
    return (
        F.interpolate(image, scale_factor=(2.0, 1.0), mode="bilinear", align_corners=False), picked, parts,
        best.values, best.indices, F.pad(y, (1, 1), value=-1.5), y.masked_fill(y > 3, 1e30).T, x.data.abs(),
        torch.einsum("ij,kj->ik", y, y), torch.ops.aten.linear(x, torch.ones(4, 3)), y.to(torch.bfloat16), x.mT * 2,
        torch.linalg.norm(y, ord=2, dim=(0, 1)), nn.init.normal_(torch.empty(3)), y.unflatten(1, (3, 1)),
    )  # fmt: skip


def regions(self: Any, x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = F.linear(x, torch.eye(3))
        with torch.autocast("cpu", enabled=False):
            off = F.linear(x, torch.eye(3))
        return half, off, torch.prod(half, dim=1)


def first_order(self: Any, x: torch.Tensor) -> torch.Tensor:
    weights = torch.ones(3).requires_grad_()
    (gradient,) = torch.autograd.grad(((x * weights) ** 2).sum(), weights)
    return x @ (weights - 0.1 * gradient)


def dropped(self: Any, x: torch.Tensor) -> torch.Tensor:
    total = torch.empty(2, 3)
    torch.sub(x, 1, out=total)
    nothing = torch.zeros(2, 3)
    nothing.view(-1)[2:].copy_(x.view(-1)[2:])
    return total + nothing


MODELS: dict[str, Callable[..., Any]] = {
    "arguments of many kinds": arguments_of_many_kinds,
    "regions of autocast": regions,
    "a gradient inside": first_order,
    "tensors whose ops were dropped": dropped,
    "a sparse tensor": lambda self, x: (
        torch.sparse_coo_tensor([[0, 1], [1, 2]], x[0, :2], (3, 3), check_invariants=True).to_dense() + x.sum()
    ),
    "a constant": lambda self, x: x * TABLE + TABLE[0],
    "memory of a row": lambda self, x: torch.as_strided(self.table[1], (3,), (1,), 5) * x,
    "a seed on the way": lambda self, x: (x + torch.rand(3), torch.manual_seed(3), x * torch.randn(3))[::2],
}
TABLE = torch.arange(3.0) + 1


@pytest.mark.parametrize("name", MODELS)
def test_everything_is_there(name: str, tmp_path: Path) -> None:
    model = Runs(MODELS[name], table=torch.arange(12.0).reshape(3, 4))
    with torch.set_grad_enabled(name == "a gradient inside"):
        loaded = reloaded(model, X.clone(), tmp_path)
    torch.manual_seed(99)
    assert proved(loaded)


def test_memory_lies_as_it_did(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).to(memory_format=torch.channels_last)
    live = tl.trace(model, torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last), capture=FULL)
    loaded = tl.load(live.save(tmp_path / "run.tlspec", level=EXECUTABLE))
    again = tl.load(loaded.save(tmp_path / "again.tlspec", level=EXECUTABLE))
    for trace in (loaded, again):
        assert [op.out.stride() for op in trace.ops] == [op.out.stride() for op in live.ops]
        assert proved(trace)


def test_parameters_are_those_of_the_run(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    live = tl.trace(model, X, capture=FULL)
    with torch.no_grad():
        model.weight.mul_(2)
    assert proved(tl.load(live.save(tmp_path / "run.tlspec", level=EXECUTABLE)))


def test_parameters_that_the_run_builds(tmp_path: Path) -> None:
    assert proved(reloaded(nn.LazyLinear(4), X, tmp_path))


def test_a_parameter_that_the_run_writes(tmp_path: Path) -> None:
    class Trains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x @ self.weight
            with torch.no_grad():
                self.weight[0].add_(1)
            return y + x @ self.weight

    with torch.no_grad():
        assert proved(reloaded(Trains(), X, tmp_path))


def test_random_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("programs")

    class Text(nn.Module):
        def __init__(self, program: Program) -> None:
            super().__init__()
            for k, values in enumerate(program.buffers):
                self.register_buffer(f"b{k}", tensor(values))
            scope: dict[str, Any] = {"torch": torch}
            exec(compile(program.text, "<program>", "exec"), scope)
            self.text = scope["forward"]

        def forward(self, *inputs: torch.Tensor) -> Any:
            return self.text(self, *inputs)

    def tensor(values: Any) -> torch.Tensor:
        found = torch.tensor(values)
        return found.double() if found.is_floating_point() else found

    @settings(max_examples=100)
    @given(judged_programs(faulty=False))
    def check(program: Program) -> None:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", TorchLensWarning)
            live = tl.trace(Text(program), tuple(tensor(values) for values in program.inputs), capture=FULL)
            loaded = tl.load(live.save(folder / "run.tlspec", level=EXECUTABLE, overwrite=True))
            live.validate_forward_pass([])
            loaded.validate_forward_pass([])
        assert loaded.validation_replay_status.decisions == live.validation_replay_status.decisions

    check()


def drawing(folder: Path, name: str) -> Path:
    """A bundle of a run that draws, each time from where the last one left the generators."""
    run = tl.trace(Runs(lambda self, x: F.dropout(x, 0.5, True) + 1), torch.ones(8, 8), capture=FULL)
    return run.save(folder / name, level=EXECUTABLE)


def exchange_states(path: Path, other: Path) -> None:
    states: list[Any] = []
    change_tables(other, lambda tables: states.append(tables["calls"]["meta"][0]))
    change_tables(path, lambda tables: tables["calls"]["meta"].__setitem__(0, states[0]))


def test_draws_of_another_device_are_not_judged(tmp_path: Path) -> None:
    path = drawing(tmp_path, "run.tlspec")
    exchange_states(path, drawing(tmp_path, "other.tlspec"))

    def recorded_elsewhere(tables: Any) -> None:
        tables["strings"].append("cuda:0")
        tables["ops"]["device"] = [len(tables["strings"]) - 1] * len(tables["ops"]["device"])

    change_tables(path, recorded_elsewhere)
    status = tl.load(path, map_location="cpu").validate_forward_pass([])
    assert status.state == "unverified"
    assert status.unverified_reason_counts == {"random_device_moved": 1}


# ---------------------------------------------------------------- what is refused


def refused(trace: Any) -> ArtifactError:
    with pytest.raises(ArtifactError) as caught:
        trace.validate_forward_pass([])
    status = trace.validation_replay_status
    assert (status.state, status.source, status.available) == ("unavailable", "loaded", False)
    assert status.reason == "loaded_trace_runtime_capture_stripped"
    return caught.value


MODEL = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
BOTH = ("linear_1_1:1", "relu_1_2:1")


@pytest.mark.parametrize("level", ["portable", "audit"])
def test_lower_levels(level: str, tmp_path: Path) -> None:
    loaded = tl.load(tl.trace(MODEL, X, capture=FULL).save(tmp_path / "run.tlspec", level=level))
    error = refused(loaded)
    assert loaded.validation_replay_status.payload_load_status == ("none" if level == "audit" else "lazy")
    assert error.code == "validation_functions_missing"
    assert f"level '{level}' and has no functions for linear_1_1:1, relu_1_2:1, so these ops" in str(error)
    assert error.fields["ops"] == BOTH
    assert "save_args=True, save_rng=True" in error.remedy
    assert "executable_with_callables" in error.remedy


def test_a_run_that_kept_no_arguments(tmp_path: Path) -> None:
    error = refused(tl.load(tl.trace(MODEL, X).save(tmp_path / "run.tlspec", level=EXECUTABLE)))
    assert error.code == "validation_arguments_missing"
    assert str(error).startswith(
        "The run kept no arguments of linear_1_1:1, relu_1_2:1, so these ops cannot run again."
    )
    assert error.fields["ops"] == BOTH


def own(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_a_run_that_kept_no_random_states(tmp_path: Path) -> None:
    options = tl.CaptureOptions(save_args=True)
    live = tl.trace(Runs(lambda self, x: F.dropout(x, 0.5, True) + 1), torch.ones(8, 8), capture=options)
    torch.manual_seed(99)
    status = tl.load(live.save(tmp_path / "run.tlspec", level=EXECUTABLE)).validate_forward_pass([])
    assert (status.state, status.source) == ("unverified", "loaded")
    assert status.unverified_reason_counts == {"random_state_unknown": 1}
    assert "save_rng=True" in status.message


def test_a_foreign_function(tmp_path: Path) -> None:
    transformed = Runs(lambda self, x: torch.vmap(own)(x) + 1)
    live = tl.trace(transformed, X, capture=FULL)
    error = refused(tl.load(live.save(tmp_path / "run.tlspec", level=EXECUTABLE)))
    assert error.code == "validation_functions_foreign"
    assert error.fields["ops"] == ("vmap_1_1:1",)
    assert "is no function of torch that only computes, and made vmap_1_1:1, so this op" in str(error)


@pytest.mark.parametrize("name", ["torch.load", "os.system", "torch.Tensor.__reduce_ex__", "builtins.exec"])
def test_a_name_put_into_the_bundle_runs_nothing(name: str, tmp_path: Path) -> None:
    path = tl.trace(MODEL, X, capture=FULL).save(tmp_path / "run.tlspec", level=EXECUTABLE)
    change_tables(path, lambda tables: tables["strings"].__setitem__(tables["calls"]["function"][1], name))
    error = refused(tl.load(path))
    assert error.fields["functions"] == (name,)
    assert error.fields["ops"] == ("relu_1_2:1",)


def test_nothing_in_a_bundle_is_a_pickle(tmp_path: Path) -> None:
    path = tl.trace(MODEL, X, capture=FULL).save(tmp_path / "run.tlspec", level=EXECUTABLE)
    assert sorted(file.name for file in path.iterdir()) == ["manifest.json", "payloads.safetensors", "tables.json"]


def test_an_argument_of_an_unknown_kind(tmp_path: Path) -> None:
    loaded = reloaded(
        Runs(lambda self, x: x + torch.as_tensor(np.float32(2)) * torch.tensor(np.arange(3))), X, tmp_path
    )
    assert proved(loaded)
    assert loaded.validation_replay_status.exempted_reason_counts["literal"] >= 1


def test_more_than_the_bundle_held_is_not_saved(tmp_path: Path) -> None:
    loaded = tl.load(tl.trace(MODEL, X, capture=FULL).save(tmp_path / "run.tlspec"))
    with pytest.raises(ArtifactError, match="level 'portable', which holds neither arguments nor functions") as caught:
        loaded.save(tmp_path / "more.tlspec", level=EXECUTABLE)
    assert caught.value.code == "artifact_level_unavailable"
    assert not (tmp_path / "more.tlspec").exists()


def test_a_lower_level_holds_less(tmp_path: Path) -> None:
    live = tl.trace(Runs(lambda self, x: F.dropout(x, 0.5, True) @ torch.ones(3)), X, capture=FULL)
    portable = live.save(tmp_path / "portable.tlspec")
    executable = live.save(tmp_path / "run.tlspec", level=EXECUTABLE)
    text = [(path / "tables.json").read_text() for path in (portable, executable)]
    assert ["random_state" in content for content in text] == [False, True]
    assert records_of(tl.load(portable)).calls[0].func is None


def test_an_incomplete_run(tmp_path: Path) -> None:
    def raising(self: Any, x: torch.Tensor) -> torch.Tensor:
        raise ArithmeticError(str((x * 2).shape))

    with pytest.raises(ArithmeticError) as caught:
        tl.trace(Runs(raising), X, capture=FULL)
    loaded = tl.load(caught.value.partial_trace.save(tmp_path / "run.tlspec", level=EXECUTABLE))
    with pytest.raises(ConfigurationError, match="only a complete run can be validated"):
        loaded.validate_forward_pass([])


# ---------------------------------------------------------------- what is found


def flipped(content: bytes) -> bytes:
    return bytes([content[0] ^ 0x40]) + content[1:]


def other_number(content: bytes) -> bytes:
    values = np.frombuffer(content, np.float32).copy()
    values[-1] = values[-1] * 1.5 + 0.5
    return values.tobytes()


@pytest.mark.parametrize("name", ["linear_1_1:1", "tanh_1_2:1", "param:0.weight", "input_1:1"])
def test_a_flipped_byte_is_named(name: str, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    path = tl.trace(model, X, capture=FULL).save(tmp_path / "run.tlspec", level=EXECUTABLE)
    change_bytes(path, name, flipped)
    with pytest.raises(ArtifactError, match=f"'{name}'") as caught:
        tl.load(path).validate_forward_pass([])
    assert caught.value.code == "file_altered"
    assert caught.value.fields["value"] == name


FORGED = {
    "linear_1_1:1": "linear_1_1:1",
    "tanh_1_2:1": "tanh_1_2:1",
    "param:0.weight": "linear_1_1:1",
    "param:2.bias": "linear_2_3:1",
    "input_1:1": "linear_1_1:1",
}
"""Value that is changed, and the op at which that shows."""


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_value_is_found_at_its_op(name: str, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))
    path = tl.trace(model, X, capture=FULL).save(tmp_path / "run.tlspec", level=EXECUTABLE)
    assert proved(tl.load(path))
    forge(path, name, other_number)
    loaded = tl.load(path)
    with pytest.warns(TorchLensWarning):
        assert loaded.validate_forward_pass([]) is False
    failure = tl.last_validation_failure()
    assert (failure.check, failure.op_label) == ("forward_replay", FORGED[name])
    status = loaded.validation_replay_status
    assert (status.state, status.source) == ("failed", "loaded")


def test_a_forged_argument_is_found(tmp_path: Path) -> None:
    path = tl.trace(Runs(lambda self, x: F.pad(x, (1, 1), value=-1.5).exp()), X, capture=FULL).save(
        tmp_path / "run.tlspec", level=EXECUTABLE
    )

    def change(tables: Any) -> None:
        tables["calls"]["kwargs"][0]["value"] = -2.5

    change_tables(path, change)
    with pytest.warns(TorchLensWarning):
        assert tl.load(path).validate_forward_pass([]) is False
    assert tl.last_validation_failure().op_label == "pad_1_1:1"


def test_a_forged_state_of_the_generator_is_found(tmp_path: Path) -> None:
    path = drawing(tmp_path, "run.tlspec")
    exchange_states(path, drawing(tmp_path, "other.tlspec"))
    with pytest.warns(TorchLensWarning):
        assert tl.load(path).validate_forward_pass([]) is False
    assert tl.last_validation_failure().op_label == "dropout_1_1:1"
