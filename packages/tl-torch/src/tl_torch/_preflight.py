"""What is refused before the model runs, and what is unwrapped."""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

import torch
from torch import nn

from tl_core import ArgumentTypeError, CaptureError, ReentrantTraceError, Trace, UnsupportedTensorVariantError
from tl_torch._compiled import note_unwrapped, source_of
from tl_torch._seams_table import running
from tl_torch._structure import tensors_in
from tl_torch._torch_private import (
    UninitializedTensorMixin,
    has_pre_hooks,
    is_functional_tensor,
    is_ordinary,
    own_children,
)

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

MAX_OFFENDERS_SHOWN = 8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be run."""

    model: nn.Module
    """The module whose state and children are recorded."""
    method: str
    """`__call__`, or the name of the bound method that was given."""

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call it."""
        return self.function(*args, **kwargs)

    @property
    def function(self) -> Callable[..., Any]:
        """The callable."""
        return self.model if self.method == "__call__" else getattr(self.model, self.method)


def target_of(model: object, asked: str = "tl.trace") -> Target:
    """The module and method behind what the user gave.

    Args:
        model: what was given.
        asked: the function that it was given to, for messages.

    Raises:
        CaptureError: it is scripted (code `scripted_model`), exported (`model_type_unsupported`), or a module whose
            `__init__` has not run (`module_not_initialised`).
        ArgumentTypeError: it is no model (`model_type_unsupported`).
    """
    method = "__call__"
    if isinstance(model, types.MethodType) and isinstance(model.__self__, nn.Module):
        method = model.__name__
        model = model.__self__
    if isinstance(model, torch.jit.ScriptModule):
        raise _scripted("the model")
    if type(model).__module__.startswith("torch.export") and type(model).__name__ == "ExportedProgram":
        raise CaptureError(
            "An ExportedProgram is a graph, not a model that runs operation by operation.",
            code="model_type_unsupported",
            remedy="trace the nn.Module that was exported, or exported.module()",
            model=type(model).__name__,
        )
    if isinstance(model, Trace):
        raise _finished(model, asked)
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(
            f"{asked} takes an nn.Module or one of its methods, and was given {named_kind(model)}.",
            code="model_type_unsupported",
            remedy="put the computation into an nn.Module: class Net(nn.Module): def forward(self, x): ...",
            model=named_kind(model),
        )
    if "_modules" not in vars(model):
        check_initialised(model)
    return Target(model=_unwrapped(model), method=method)


def check_initialised(model: nn.Module) -> None:
    """Refuse a model with a module whose class does not call `super().__init__()`.

    Raises:
        CaptureError: names one (`module_not_initialised`).
    """
    front: list[tuple[str, nn.Module]] = [("", model)]
    seen: set[int] = set()
    while front:
        address, module = front.pop()
        if id(module) in seen or isinstance(module, torch.jit.ScriptModule):
            continue
        seen.add(id(module))
        if "_modules" not in vars(module):
            kind = type(module).__name__
            what = f"The module {address!r} ({kind})" if address else f"The model ({kind})"
            raise CaptureError(
                f"{what} was not initialised: it has no parameters, buffers or hooks, not even empty ones.",
                code="module_not_initialised",
                remedy=f"call super().__init__() first in {kind}.__init__",
                address=address,
                module=kind,
            )
        prefix = f"{address}." if address else ""
        front.extend((prefix + name, child) for name, child in own_children(module).items() if child is not None)


def _finished(trace: Trace, asked: str) -> ArgumentTypeError:
    """The refusal of a trace where a model is meant."""
    ways = {
        "tl.validate": "trace.validate_forward_pass([model(x)]) checks this trace; tl.validate(model, x) traces the "
        "model anew and checks that",
        "tl.debug.find_nan": "trace.find_nan() looks through this trace; tl.debug.find_nan(model, x) runs the model",
    }
    return ArgumentTypeError(
        f"{asked} takes a model, and was given the finished trace {trace.name!r} of {trace.model_class_name}.",
        code="model_type_unsupported",
        remedy=ways.get(asked, "this is the trace already: trace.summary(), trace['relu_1'].out, trace.find(...)"),
        model="Trace",
    )


def _unwrapped(model: nn.Module) -> nn.Module:
    while True:
        source = source_of(model)
        if source is not None:
            note_unwrapped()
            model = source
        elif isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = cast("nn.Module", model.module)
        else:
            return model


def _scripted(what: str) -> CaptureError:
    return CaptureError(
        f"TorchScript runs without Python, so nothing that it computes can be seen; {what} is scripted or traced.",
        code="scripted_model",
        remedy="trace the nn.Module before torch.jit.script or torch.jit.trace",
        what=what,
    )


def named_kind(value: Any) -> str:
    """What a value is, with its article, for messages."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = getattr(value, "__name__", None)
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    return f"the function {name!r}" if callable(value) and name else f"{article} {kind}"


def check_context(asked: str = "tl.trace") -> None:
    """Refuse a trace inside a trace and one in a worker process.

    Args:
        asked: the function that was called, for messages.

    Raises:
        ReentrantTraceError: codes `reentrant_trace`, `worker_process`.
    """
    if running() is not None:
        raise ReentrantTraceError(
            f"A trace is under way on this thread, and {asked} was called inside it.",
            code="reentrant_trace",
            remedy="trace the inner model after the outer trace has ended",
        )
    worker = torch.utils.data.get_worker_info()
    process = multiprocessing.current_process()
    if worker is not None or (multiprocessing.parent_process() is not None and not _is_rank(process)):
        raise ReentrantTraceError(
            f"{asked} was called in the worker process {process.name!r}.",
            code="worker_process",
            remedy="trace in the main process, or in a rank of an initialised torch.distributed job",
            process=process.name,
        )


def _is_rank(process: BaseProcess) -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized() and not process.daemon


def _has_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Any, Any]", value))


def arguments(inputs: object, input_kwargs: Any, asked: str = "tl.trace") -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of the model.

    Args:
        inputs: what the user gave as positional arguments.
        input_kwargs: what the user gave as keyword arguments.
        asked: the function that they were given to, for messages.

    Raises:
        ArgumentTypeError: nothing was given (`inputs_missing`), or `input_kwargs` is no dict (`input_kwargs_invalid`).
    """
    if input_kwargs is not None and not _has_names(input_kwargs):
        raise ArgumentTypeError(
            f"input_kwargs takes a dict of keyword arguments, and was given {named_kind(input_kwargs)}.",
            code="input_kwargs_invalid",
            remedy='input_kwargs={"attention_mask": mask}',
            given=named_kind(input_kwargs),
        )
    kwargs = dict(cast("Mapping[str, Any]", input_kwargs or {}))
    if inputs is None:
        if not kwargs:
            raise ArgumentTypeError(
                f"{asked} was given no inputs.",
                code="inputs_missing",
                remedy=f"{asked}(model, x); a model without inputs takes inputs=()",
            )
        return (), kwargs
    if type(inputs) in (list, tuple):
        return tuple(cast("Sequence[Any]", inputs)), kwargs
    return (inputs,), kwargs


_signatures: weakref.WeakKeyDictionary[Callable[..., Any], inspect.Signature | None] = weakref.WeakKeyDictionary()


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    plain = getattr(function, "__func__", function)
    try:
        if plain not in _signatures:
            _signatures[plain] = inspect.signature(plain)
    except (TypeError, ValueError):  # a builtin or a partial without a signature
        return None
    return _signatures[plain]


@final
@dataclass(frozen=True, slots=True)
class Given:
    """Checked arguments of the model."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: list[str]
    """Parameter names of `args`."""

    def named(self) -> dict[str, Any]:
        """All of them by name."""
        return {**dict(zip(self.names, self.args, strict=True)), **self.kwargs}

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every tensor among them with its address, such as `x` or `batch.labels`."""
        for name, value in (*zip(self.names, self.args, strict=True), *self.kwargs.items()):
            yield from tensors_in(value, name)


def bind(target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """Check that the arguments fit the model, and name the positional ones.

    Raises:
        ArgumentTypeError: they do not fit the signature (`inputs_do_not_fit`).
    """
    return Given(args, kwargs, _names(target, args, kwargs))


def _names(target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Names of the positional arguments.

    Raises:
        ArgumentTypeError: they do not fit the signature (`inputs_do_not_fit`).
    """
    model = target.model
    function = model.forward if target.method == "__call__" else getattr(model, target.method)
    if not kwargs and (simple := _positional_names(function, len(args))) is not None:
        return simple
    signature = _signature(function)
    names = [f"arg{number}" for number in range(len(args))]
    if signature is None or has_pre_hooks(model):  # a hook may change the arguments
        return names
    bound = isinstance(function, types.MethodType)
    try:
        signature.bind(*([model, *args] if bound else args), **kwargs)
    except TypeError as error:
        shown = str(signature).replace("(self, ", "(").replace("(self)", "()")
        raise ArgumentTypeError(
            f"The inputs do not fit {type(model).__name__}.{function.__name__}{shown}: {error}.",
            code="inputs_do_not_fit",
            remedy="inputs=(...) are positional arguments, input_kwargs={...} keyword arguments of the model"
            + ("; one argument that is a list is given as inputs=([...],)" if len(args) > 1 else ""),
            signature=shown,
            positional=len(args),
            keywords=sorted(kwargs),
        ) from None
    taken = list(signature.parameters.values())[1 if bound else 0 :]
    for number, parameter in enumerate(taken[: len(args)]):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names[number:] = [f"{parameter.name}.{i}" for i in range(len(args) - number)]
            break
        names[number] = parameter.name
    return names


def _positional_names(function: Any, count: int) -> list[str] | None:
    """Names of `count` positional arguments of a plain method that takes just these, else None."""
    plain = getattr(function, "__func__", None)
    if type(plain) is not types.FunctionType or "__wrapped__" in vars(plain):
        return None
    code = plain.__code__
    required = code.co_argcount - 1 - len(plain.__defaults__ or ())
    if not required <= count < code.co_argcount or (code.co_kwonlyargcount and not plain.__kwdefaults__):
        return None
    return list(code.co_varnames[1 : 1 + count])


def check_tensors(named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Refuse tensors without ordinary dense storage, all of them at once.

    Raises:
        UnsupportedTensorVariantError: lists each offender with its address (`unsupported_tensor_variant`).
    """
    offenders = [(address, variant) for address, tensor in named if (variant := _variant(tensor)) is not None]
    if not offenders:
        return
    shown = "".join(f"\n    {address}: {variant}" for address, variant in offenders[:MAX_OFFENDERS_SHOWN])
    more = len(offenders) - MAX_OFFENDERS_SHOWN
    if more > 0:
        shown += f"\n    and {more} more"
    raise UnsupportedTensorVariantError(
        f"{len(offenders)} of the model's tensors have no ordinary dense values:{shown}",
        code="unsupported_tensor_variant",
        remedy="materialise dense tensors on a real device before tracing",
        offenses=tuple({"address": address, "variant": variant} for address, variant in offenders),
    )


def _variant(tensor: torch.Tensor) -> str | None:
    if is_ordinary(tensor):
        return None
    kind = type(tensor)
    if kind.__module__.startswith("torch._subclasses"):
        return "functional tensor" if "unctional" in kind.__name__ else "fake tensor"
    if isinstance(tensor, UninitializedTensorMixin):
        return None
    if tensor.layout is not torch.strided and tensor.layout is not _MKLDNN:
        return f"sparse tensor ({str(tensor.layout).rpartition('.')[2]})"
    if tensor.device.type == "meta":
        return "meta tensor"
    if is_functional_tensor(tensor):
        return "functional tensor"
    if tensor.is_nested:
        return "nested tensor"
    return "symbolic shape" if any(type(size) is not int for size in tensor.shape) else None


_MKLDNN = getattr(torch, "_mkldnn", None)


@functools.cache
def option_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Keyword-only options of a function."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
