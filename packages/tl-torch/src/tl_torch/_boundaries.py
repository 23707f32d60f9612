"""What runs without showing its insides, and is recorded as one op: TorchScript, transforms, higher-order operators."""

from __future__ import annotations

import functools
import os
import weakref
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, final

import torch
from torch.overrides import TorchFunctionMode

from tl_torch._backward import BackwardPasses
from tl_torch._compiled import Eagerly
from tl_torch._frames import caller
from tl_torch._function_table import FunctionInfo
from tl_torch._higher_order import Applied, Heard, Lifted, held_params, is_own_compilation, speaking
from tl_torch._seams_table import suspended
from tl_torch._structure import tensors_in
from tl_torch._torch_private import (
    WithoutFunctionMode,
    compiler_backend,
    current_functorch_level,
    forward_code,
    function_mode_depth,
    function_mode_listens,
    innermost_dispatch_mode,
    pop_function_mode,
    push_function_mode,
    torch_function_disabled,
    version_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import FrameType

    from tl_core import ModuleRecord
    from tl_torch._capture import Recorder

_FUNCTORCH = os.path.join(os.path.dirname(torch.__file__), "_functorch") + os.sep
_PASSIVE = frozenset({torch.Tensor, torch.nn.Parameter, type(None)})
"""Classes of arguments that are no reason to ask anybody but a function mode."""
_DIRECT = frozenset({"wrapped", "wrapper", "jvp"})
"""Functions of torch that do nothing but run one transform: what they return is what the boundary returns."""

SCRIPT = FunctionInfo("jitscript", "torch.jit.script", "call", "moved")
SCRIPT.meta = {"transform_kind": "jit.script"}
SCRIPT.trusted = False


@final
class Transformed:
    """A transform as a function of everything that it read, the tensors in closures included."""

    __slots__ = ("_captured", "_original", "kind")

    def __init__(self, kind: str, original: Callable[..., Any]) -> None:
        self.kind = kind
        self._original = original
        self._captured: list[weakref.ref[torch.Tensor]] = []

    def capture(self, tensors: Sequence[torch.Tensor]) -> None:
        """Name the tensors that it reads beside its arguments."""
        self._captured = [weakref.ref(tensor) for tensor in tensors]

    @property
    def __name__(self) -> str:
        return self.kind

    def __call__(self, *args: Any, captured: Sequence[torch.Tensor] = (), **kwargs: Any) -> Any:
        """Run the transform with other values in the place of captured tensors."""
        replaced = {
            id(tensor): value
            for reference, value in zip(self._captured, captured, strict=False)
            if (tensor := reference()) is not None and value is not tensor
        }
        if not replaced:
            return self._original(*args, **kwargs)
        with _Substituted(replaced):
            return self._original(*args, **kwargs)


@final
class _Substituted(TorchFunctionMode):
    """Hands other tensors to the functions that are called."""

    def __init__(self, replaced: Mapping[int, torch.Tensor]) -> None:
        super().__init__()
        self._replaced = replaced

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = [self._other(value) for value in args]
        return func(*given, **{name: self._other(value) for name, value in (kwargs or {}).items()})

    def _other(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._replaced.get(id(value), value)
        if type(value) in (list, tuple):
            return type(value)([self._other(item) for item in value])
        return value


@final
class Boundaries:
    """Records what the seams report; one object a run."""

    __slots__ = (
        "_backward",
        "_captured",
        "_recorder",
        "_versions",
        "compound",
        "eagerly",
        "operators",
        "scripts",
        "transforms",
        "writers",
    )

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._captured: dict[int, torch.Tensor] | None = None
        self._versions: list[int] = []
        """Version counters of the captured tensors when they were first read."""
        self._backward = BackwardPasses(recorder)
        self.scripts: list[str] = []
        """Names of the TorchScript functions that ran."""
        self.writers: list[str] = []
        """Those that wrote into an argument."""
        self.transforms: list[str] = []
        """Kinds of the transforms that ran."""
        self.operators: list[str] = []
        """Names of the higher-order operators that ran."""
        self.eagerly = Eagerly()
        """Holds the compiler off while the model runs."""
        self.compound = False
        """Whether a transform ran whose result is put together from several boundaries."""

    def scripted_call(self, original: Callable[..., Any], function: Any, args: Any, kwargs: Any) -> Any:
        """Run a TorchScript function or method as one op."""
        recorder = self._recorder
        if current_functorch_level() is not None or function_mode_depth() < recorder.depth:
            return original(function, *args, **kwargs)
        name = str(getattr(function, "name", "script"))
        self.scripts.append(name)
        with torch_function_disabled():
            held = self._scripted_module()
            state = () if held is None else tuple(recorder.sources.module_of(held).buffers())
            recorded = recorder.builder.records.calls
            count = len(recorded)
            before = [(tensor, version_of(tensor)) for _, tensor in tensors_in([args, kwargs, state])]
            result = recorder.boundary(
                function, SCRIPT, args, kwargs,
                lambda: recorder.run_as(function, lambda: original(function, *args, **kwargs)),
            )  # fmt: skip
            if held is not None and len(recorded) > count:
                recorded[count].params = tuple(held.params)
            written = [tensor for tensor, version in before if version_of(tensor) != version]
            if written:
                self.writers.append(name)
                recorder.note_gap(
                    "scripted_function_not_captured",
                    f"The TorchScript function {name!r} wrote into a tensor of shape {tuple(written[0].shape)}; "
                    "what it did on the way is not in the graph.",
                )
        return result

    def _scripted_module(self) -> ModuleRecord | None:
        """The TorchScript module that is running, if one is."""
        running = self._recorder.calls.running
        record = running[-1].module if running else None
        return record if record is not None and record.address in self._recorder.sources.scripted else None

    def transform_call(self, kind: str, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a `torch.func` transform as one op."""
        recorder = self._recorder
        outermost = current_functorch_level() is None and self._captured is None
        if not outermost or function_mode_depth() < recorder.depth:
            return original(*args, **kwargs)
        outer = _outermost(caller(1))
        transformed = Transformed(kind, original)
        captured = self._captured = {}
        self._versions.clear()
        start = perf_counter_ns()
        try:
            result = recorder.run_as(transformed, lambda: original(*args, **kwargs))
        finally:
            self._captured = None
        duration = perf_counter_ns() - start
        with torch_function_disabled():
            given = {id(tensor) for _, tensor in tensors_in([args, kwargs])}
            extra = [tensor for key, tensor in captured.items() if key not in given]
            self.transforms.append(kind)
            self._check_writes(kind, captured.values())
            if outer is not None and outer.f_code.co_name not in _DIRECT:
                self._note_compound(outer, extra, given)
            info = FunctionInfo(kind, f"torch.func.{kind}", "call")
            info.meta = {"transform_kind": kind}
            info.trusted = False
            transformed.capture(extra)
            named = {**kwargs, "captured": tuple(extra)} if extra else kwargs
            recorded = recorder.builder.records.calls
            before = len(recorded)
            recorder.boundary(transformed, info, args, named, lambda: result)
            if len(recorded) > before:
                recorded[before].duration_ns = duration
        return result

    def _check_writes(self, kind: str, captured: Iterable[torch.Tensor]) -> None:
        """Note the writes of a transform into tensors that it captured: nobody has kept what they held before."""
        written = [
            tensor for tensor, version in zip(captured, self._versions, strict=True) if version_of(tensor) != version
        ]
        if written:
            self._recorder.note_gap(
                "transform_call_route_unverified",
                f"{kind!r} of torch.func wrote into a tensor of shape {tuple(written[0].shape)} that its function "
                "captured; the trace shows what it holds since then.",
            )

    def compile_call(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run `torch.compile`: for the model, whose source then runs, or for a higher-order operator."""
        frame = caller(2)  # beyond what stands in for `torch.compile`
        compiled = original(*args, **kwargs)
        self.eagerly.begin()
        if not is_own_compilation(frame, kwargs) or function_mode_depth() != self._recorder.depth:
            return compiled
        if current_functorch_level() is not None:
            return functools.partial(self._inside_transform, compiled)
        return functools.partial(self._compiled_call, original, (args, kwargs))

    def python_call(
        self, original: Callable[..., Any], function: Callable[..., Any], relevant: Any, args: Any, kwargs: Any
    ) -> Any:
        """Record a call of a function of torch that is written in Python.

        Nothing but our own mode overrides a call of plain tensors; whatever else there is, torch finds.
        """
        if relevant.__class__ is tuple and function_mode_listens() and _PASSIVE.issuperset(map(type, relevant)):
            mode = pop_function_mode()
            try:
                if mode is self._recorder:
                    result = mode.__torch_function__(function, (), args, kwargs)
                    if result is not NotImplemented:
                        return result
            finally:
                push_function_mode(mode)
        return original(function, relevant, *args, **kwargs)

    def backward_call(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run the engine of autograd; a pass that leaves gradients in tensors is one op."""
        if current_functorch_level() is not None:
            return original(*args, **kwargs)
        return self._backward.run(original, args, kwargs)

    def call_apart(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Run `copy.deepcopy` of a tensor, the read of its gradient, or the making of a dual number.

        A gradient that the run itself has left there is known, and reading it is no op. What `deepcopy` is told of
        earlier copies is no argument of the op.
        """
        recorder = self._recorder
        if info.name == "grad":
            held: torch.Tensor | None = args[0].grad
            if held is None or recorder.ledger.find(held) is not None:
                return held
            return recorder.boundary(func, info, args, {}, lambda: held)
        if info.name == "_make_dual":
            if type(innermost_dispatch_mode()).__name__ == "ProxyTorchDispatchMode":
                recorder.note_gap(
                    "transform_call_route_unverified",
                    "torch.func.linearize made a graph of its own, whose constants come from no recorded call.",
                )
            run = functools.partial(func, *args, **kwargs)
            return recorder.boundary(func, info, args, kwargs, lambda: recorder.run_as(func, run))
        memo: dict[Any, Any] = args[1] if len(args) > 1 else {}
        copied = memo.get(id(args[0]))
        if copied is not None:
            return copied
        return recorder.boundary(func, info, (args[0], {}), {}, lambda: recorder.run_as(func, lambda: func(*args)))

    def marked_dirty(self, context: Any, tensors: tuple[Any, ...]) -> None:
        """Note that an `autograd.Function` says it has written; whether that was seen shows when the tensor is read."""
        code = forward_code(context)
        for tensor in tensors:
            entry = self._recorder.ledger.find(tensor)
            if entry is not None and code is not None:
                entry.memory.mark(code)

    def _inside_transform(self, compiled: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a higher-order operator inside a transform, which is one op."""
        self._recorder.note_gap(
            "transform_call_route_unverified",
            "A higher-order operator ran inside a torch.func transform; what its functions read beside their arguments "
            "is not known.",
        )
        with self.eagerly.suspended(), suspended(), WithoutFunctionMode(), self._recorder.aside():
            return compiled(*args, **kwargs)

    def _compiled_call(self, original: Callable[..., Any], how: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a higher-order operator in a graph that shows all that it reads."""
        recorder = self._recorder
        options = {**how[1], "backend": speaking(compiler_backend(how[1].get("backend", "eager")))}
        start = perf_counter_ns()
        with self.eagerly.suspended(), suspended(), WithoutFunctionMode(), recorder.aside(), Heard() as heard:
            result = original(*how[0], **options)(*args, **kwargs)
        duration = perf_counter_ns() - start
        lifted = heard.lifted(result)
        if heard.graph is None:
            recorder.note_gap(
                "dynamo_region_not_logged",
                f"A higher-order operator ran without the compiler, in {caller(2).f_code.co_name!r}: what its functions "
                "read beside their arguments is not known.",
            )
        params = held_params([heard.graph])  # before torch 2.5 they are no inputs of the graph
        self._record_operator(lifted, heard.inputs or (args, kwargs), lambda: result, duration, params)
        return result

    def higher_order_call(self, operator: Any, args: Any, kwargs: Any) -> Any:
        """Run a higher-order operator that was called directly."""
        applied = Applied(operator, args, kwargs)
        tensors = [tensor for _, tensor in tensors_in([args, kwargs])]

        def run() -> Any:
            with self._recorder.aside():
                return operator(*args, **kwargs)

        with torch_function_disabled():
            return self._record_operator(applied, tensors, run, None, held_params(args))

    def _record_operator(
        self, applied: Lifted | Applied, inputs: Sequence[Any], run: Callable[[], Any], duration: int | None,
        params: Sequence[torch.Tensor] = (),
    ) -> Any:  # fmt: skip
        recorder = self._recorder
        self.operators.append(applied.kind)
        info = FunctionInfo(applied.kind, f"higher_order::{applied.kind}", "call")
        info.meta = {"transform_kind": applied.kind}
        info.trusted = False
        recorded = recorder.builder.records.calls
        before = len(recorded)
        with torch_function_disabled():
            result = recorder.boundary(applied, info, inputs, {}, run)
        if len(recorded) > before:
            if duration is not None:
                recorded[before].duration_ns = duration
            known = [
                recorder.sources.params[id(param)].record.index
                for param in params
                if id(param) in recorder.sources.params
            ]
            if known:
                recorded[before].params = tuple(dict.fromkeys([*recorded[before].params, *known]))
        return result

    def _note_compound(self, outer: FrameType, extra: list[torch.Tensor], given: set[int]) -> None:
        """A transform made of transforms: its arguments went into the closures of the inner ones."""
        self.compound = True
        known = outer.f_locals
        met = given | {id(tensor) for tensor in extra}
        read = [known[name] for name in ("args", "primals", "cotangents") if name in known]
        extra += [tensor for _, tensor in tensors_in(read) if id(tensor) not in met]
        self._recorder.note_gap(
            "transform_call_route_unverified",
            f"{outer.f_code.co_name!r} of torch.func runs transforms inside each other; what the inner ones read of "
            "its arguments is taken to be all of them.",
        )

    def watch(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
        """Note the tensors from outside that a function inside a transform reads."""
        captured = self._captured
        if captured is None:
            return
        with torch_function_disabled():
            for _, tensor in tensors_in([args, kwargs]):
                if id(tensor) not in captured and self._recorder.knows(tensor):
                    captured[id(tensor)] = tensor
                    self._versions.append(version_of(tensor))

    def close(self) -> None:
        """Let go of the recorder."""
        del self._recorder, self._backward


def _outermost(frame: FrameType | None) -> FrameType | None:
    """The outermost of the frames of functorch that stand directly above each other."""
    found: FrameType | None = None
    while frame is not None:
        if frame.f_code.co_filename.startswith(_FUNCTORCH):
            found = frame
        elif found is not None:
            return found
        frame = frame.f_back
    return found
