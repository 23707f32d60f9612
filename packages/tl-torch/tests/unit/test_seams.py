"""What stands in for a function of torch during a run is gone afterwards, by identity."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any, ClassVar

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
        "torch.nn.modules.module.Module._call_impl.__code__",
        "torch function modes",
        "ScriptFunction.__call__",
        "torch.compile",
        "FunctionCtx.mark_dirty",
        "torch.autograd._engine_run_backward",
        "torch.overrides.handle_torch_function.__code__",
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


def test_the_code_that_finds_overrides_is_replaced_and_restored_by_identity() -> None:
    function, code = torch.overrides.handle_torch_function, torch.overrides.handle_torch_function.__code__
    during: list[object] = []

    class Notes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            during.extend([torch.overrides.handle_torch_function, function.__code__])
            return x + 1

    tl.trace(Notes(), X)
    assert during[0] is function
    assert during[1] is not code
    assert hash(during[1]) == hash(during[1])
    assert function.__code__ is code
    with pytest.raises(ValueError, match="probability"):
        tl.trace(Dropout(), X)
    assert function.__code__ is code
    assert torch._C._len_torch_function_stack() == 0


class Dropout(nn.Module):
    """Asks for what cannot be."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 2.0)


def test_a_function_that_finds_overrides_with_a_closure_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.overrides.handle_torch_function
    reached: list[str] = []

    def patched(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
        reached.append(public_api.__name__)
        return original(public_api, relevant_args, *args, **kwargs)

    code = patched.__code__
    monkeypatch.setattr(torch.overrides, "handle_torch_function", patched)
    monkeypatch.setattr(nn.functional, "handle_torch_function", patched)
    trace = tl.trace(nn.ReLU(), X)
    assert torch.overrides.handle_torch_function is patched
    assert patched.__code__ is code
    assert reached == ["relu"]
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["relu"]


class Overrides(Tensor):
    """Notes the functions that ask it."""

    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        cls.seen.append(getattr(func, "__name__", ""))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def test_a_class_that_overrides_functions_is_asked_as_without_a_trace() -> None:
    class Mixed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            other = torch.ones(4).as_subclass(Overrides)
            Overrides.seen.clear()
            y = nn.functional.layer_norm(x, (4,), other)
            self.seen = [*Overrides.seen]
            return y.as_subclass(Tensor)

    plain, traced = Mixed(), Mixed()
    plain(X)
    trace = tl.trace(traced, X)
    assert "layer_norm" in plain.seen
    assert traced.seen == plain.seen
    assert trace.find(tl.func("layer_norm"))


def test_what_is_not_implemented_is_refused_as_without_a_trace() -> None:
    def passes(given: Any) -> Any:
        if torch.overrides.has_torch_function(given):
            return torch.overrides.handle_torch_function(passes, given, given)
        return NotImplemented

    class Passes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.depth = torch._C._len_torch_function_stack()
            with pytest.raises(TypeError, match=r"no implementation found for .*passes"):
                passes((x,))
            self.left = torch._C._len_torch_function_stack()
            return x + 1

    model = Passes()
    trace = tl.trace(model, X)
    assert (model.depth, model.left) == (1, 1)
    assert trace["add_1_1"].out is not None


class Names(torch.overrides.TorchFunctionMode):
    """Notes which functions it sees, and the number of modes that run while it does."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int]] = []
        self.types: list[object] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.seen.append((func.__name__, torch._C._len_torch_function_stack()))
        self.types.append(types)
        return func(*args, **(kwargs or {}))


def test_arguments_that_can_be_looked_at_only_once_are_left_to_torch() -> None:
    def doubled(x: Tensor) -> Tensor:
        if torch.overrides.has_torch_function_unary(x):
            return torch.overrides.handle_torch_function(doubled, iter([x]), x)
        return x * 2

    class Doubles(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with Names() as self.names:
                return doubled(x)

    model = Doubles()
    assert torch.equal(tl.trace(model, X)["doubled_1_1"].out, X * 2)
    assert model.names.types[0] == (Tensor,)


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
    assert plain.inner.types == traced.inner.types
    assert (Tensor,) in plain.inner.types
    assert [name for name, _ in plain.outer.seen] == [name for name, _ in traced.outer.seen]
    assert [name for name, _ in traced.outer.seen if name in {"relu", "dropout", "layer_norm"}] == [
        "relu", "dropout", "layer_norm",
    ]  # fmt: skip
    assert [depth + 1 for _, depth in plain.inner.seen] == [depth for _, depth in traced.inner.seen]
    assert plain.left == traced.left == 2
