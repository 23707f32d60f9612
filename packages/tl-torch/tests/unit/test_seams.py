"""What stands in for a function of torch during a run is gone afterwards, by identity."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import pytest
import torch
from leftovers import TorchState
from torch import Tensor, nn

import tl_torch as tl

X = torch.ones(2, 4)


class Looks(nn.Module):
    """Notes what of torch is changed while it runs."""

    def __init__(self, before: TorchState) -> None:
        super().__init__()
        self.before = before
        self.changed: list[str] = []

    def forward(self, x: Tensor) -> Tensor:
        self.changed = TorchState.now().differences(self.before)
        return x * 2


def test_only_the_declared_seams_change_during_a_run() -> None:
    model = Looks(TorchState.now())
    tl.trace(model, X)
    assert set(model.changed) <= {
        "Module._call_impl",
        "torch function modes",
        "ScriptFunction.__call__",
        "torch.compile",
        "FunctionCtx.mark_dirty",
        "torch.autograd._engine_run_backward",
        "torch.overrides._pop_mode_temporarily",
        "flags",
    }
    assert "torch function modes" in model.changed


@pytest.mark.parametrize(
    "attribute", ["_call_impl", "__call__", "_wrapped_call_impl", "__setattr__", "register_buffer"]
)
def test_methods_of_modules_are_restored(attribute: str) -> None:
    before = vars(nn.Module)[attribute]
    tl.trace(nn.Linear(4, 2), X)
    assert vars(nn.Module)[attribute] is before


def test_the_code_of_module_calls_is_replaced_and_restored_by_identity() -> None:
    function, code = nn.Module._call_impl, nn.Module._call_impl.__code__
    during: list[object] = []

    class Notes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            during.extend([nn.Module._call_impl, nn.Module._call_impl.__code__])
            return x + 1

    tl.trace(Notes(), X)
    assert during[0] is function
    assert during[1] is not code
    assert hash(during[1]) == hash(during[1])
    assert nn.Module._call_impl.__code__ is code

    def raises(self: nn.Module, x: Tensor) -> Tensor:
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        tl.trace(type("Raises", (nn.Module,), {"forward": raises})(), X)
    assert nn.Module._call_impl.__code__ is code


def test_the_class_of_modules_is_not_changed() -> None:
    """Python gives up caching what a class holds once it was changed often enough."""
    assigned: list[str] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event == "object.__setattr__" and arguments[0] is nn.Module:
            assigned.append(str(arguments[1]))

    listening = True
    sys.addaudithook(hook)
    nn.Module.made_up = 1  # type: ignore[attr-defined] # is it heard?
    del nn.Module.made_up
    heard = list(assigned)
    tl.trace(nn.Sequential(nn.Linear(4, 2)), X)
    listening = False
    assert assigned == heard


def test_patch_with_a_plain_function_survives_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        nn.Module,
        "_call_impl",
        types.FunctionType(nn.Module._call_impl.__code__, {**vars(sys.modules["torch.nn.modules.module"])}),
    )
    patched = nn.Module._call_impl
    assert tl.trace(nn.Sequential(nn.Linear(4, 2)), X)["linear_1_1:1"].module == "0"
    assert nn.Module._call_impl is patched
    assert nn.Sequential(nn.Linear(4, 2))(X).shape == (2, 2)


def test_user_patch_made_before_a_run_survives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    original = nn.Module._call_impl
    calls: list[str] = []

    def patched(self: nn.Module, *args: object, **kwargs: object) -> object:
        calls.append(type(self).__name__)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(nn.Module, "_call_impl", patched)
    trace = tl.trace(nn.Sequential(nn.Linear(4, 2)), X)
    assert nn.Module._call_impl is patched
    assert calls == ["Sequential", "Linear"]
    assert trace["linear_1_1:1"].module == "0"


def test_captures_that_overlap_on_two_threads_restore_together() -> None:
    before = TorchState.now()
    inside, leave = threading.Event(), threading.Event()

    class Waits(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            inside.set()
            assert leave.wait(20)
            return x + 1

    traces: list[object] = []
    worker = threading.Thread(target=lambda: traces.append(tl.trace(Waits(), X)))
    worker.start()
    assert inside.wait(20)
    traces.append(tl.trace(nn.Linear(4, 2), X))
    leave.set()
    worker.join()
    assert TorchState.now().differences(before) == []
    assert sorted(trace.model_class_name for trace in traces) == ["Linear", "Waits"]
    assert {op.func_name for trace in traces for op in trace.ops if op.kind == "op"} == {"linear", "add"}


def test_modules_of_other_threads_run_as_ever_during_a_capture() -> None:
    outcome: list[Tensor] = []
    other = nn.Sequential(nn.Linear(4, 2), nn.ReLU())

    class Waits(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            worker = threading.Thread(target=lambda: outcome.append(other(X)))
            worker.start()
            worker.join()
            return x + 1

    trace = tl.trace(Waits(), X)
    assert torch.equal(outcome[0], other(X))
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["add"]
    assert [module.address for module in trace.modules] == [""]


def test_setting_a_function_mode_aside_is_restored_by_identity() -> None:
    before = vars(torch.overrides)["_pop_mode_temporarily"]
    during: list[object] = []

    class Notes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            during.append(vars(torch.overrides)["_pop_mode_temporarily"])
            return x + 1

    tl.trace(Notes(), X)
    assert during[0] is not before
    assert vars(torch.overrides)["_pop_mode_temporarily"] is before


class Names(torch.overrides.TorchFunctionMode):
    """Notes which functions it sees, and the number of modes that run while it does."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.seen.append((func.__name__, torch._C._len_torch_function_stack()))
        return func(*args, **(kwargs or {}))


def test_function_modes_see_what_they_see_without_a_trace_and_stay_where_they_are_after_an_exception() -> None:
    class Uses(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.outer, self.inner = Names(), Names()
            depth = torch._C._len_torch_function_stack()
            with self.outer, self.inner:
                y = nn.functional.relu(x)
                with pytest.raises(ValueError, match="probability"):
                    nn.functional.dropout(x, 2.0)
                self.left = torch._C._len_torch_function_stack() - depth
                return nn.functional.layer_norm(y, (4,))

    plain, traced = Uses(), Uses()
    plain(X)
    tl.trace(traced, X)
    assert [name for name, _ in plain.inner.seen] == [name for name, _ in traced.inner.seen]
    assert [name for name, _ in plain.outer.seen] == [name for name, _ in traced.outer.seen]
    assert [name for name, _ in traced.outer.seen if name in {"relu", "dropout", "layer_norm"}] == [
        "relu", "dropout", "layer_norm",
    ]  # fmt: skip
    assert [depth + 1 for _, depth in plain.inner.seen] == [depth for _, depth in traced.inner.seen]
    assert plain.left == traced.left == 2
