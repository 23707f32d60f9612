"""`trace`: run a model once and hand back everything that it computed."""

from __future__ import annotations

import itertools
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import fields
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal, final, get_args

import torch

from tl_core import (
    ArgumentTypeError,
    CaptureOptions,
    ConfigurationError,
    SaveOption,
    SavePolicy,
    Trace,
    TraceBuilder,
    TraceInfo,
    fitting,
    save_policy,
    unknown_option,
)
from tl_torch._capture import Recorder
from tl_torch._diagnostics import Diagnostics
from tl_torch._distributed_preflight import check_distributed, check_distributed_kinds, may_be_distributed
from tl_torch._honesty import warn_of_kinds
from tl_torch._interpreter import recording
from tl_torch._live_names import live_names, refuse_parts
from tl_torch._preflight import (
    Given,
    Target,
    arguments,
    bind,
    check_context,
    check_initialised,
    check_tensors,
    named_kind,
    option_names,
    target_of,
)
from tl_torch._seams_table import install, remove
from tl_torch._snapshot import Keeper, SaveMode, settle_allocator
from tl_torch._structure import replaced, tensors_in
from tl_torch._surroundings import Surroundings
from tl_torch._torch_private import torch_function_disabled
from tl_torch._wrappers import with_defaults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


@fitting("tl.trace")
def trace(  # noqa: PLR0913 - the entry point
    model: torch.nn.Module | Any,
    inputs: Any = None,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    save: SaveOption = "all",
    save_mode: SaveMode = "copy",
    like: Trace | None = None,
    capture: CaptureOptions | None = None,
    name: str | None = None,
    **unknown: Any,
) -> Trace:
    """Run a model once and give back everything that it computed, operation by operation.

    The model runs exactly one forward pass and is left as that pass leaves it.

    Args:
        model: an `nn.Module`, or a bound method of one.
        inputs: one positional argument, or a list or tuple of them; `()` for none. A dict is one argument.
        input_kwargs: keyword arguments of the model.
        save: which ops keep their value: `"all"`, `"none"`, a selector, a label of the trace given as `like`, a
            function of an op, or a list of these.
        save_mode: `"copy"` keeps what the op produced whatever happens later (copy-on-write); `"reference"` keeps
            the model's own tensor and refuses to read it once it was written to; `"view"` shares its memory.
        like: an earlier trace, in which labels given to `save` are looked up.
        capture: how the run is recorded; `help(tl.CaptureOptions)` says what there is.
        name: name of the trace; by default the class of the model and a number.
        unknown: refused; arguments of the model go into `input_kwargs`.

    Returns:
        The trace. If the model raises, its own exception comes through with the ops so far as `exc.partial_trace`.

    Raises:
        ConfigurationError: an option that does not exist or does not fit.
        CaptureError: a model, process or tensor that cannot be recorded. Both come before the model runs.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
        >>> run = tl.trace(model, torch.ones(2, 4))
        >>> [op.label for op in run.ops]
        ['input_1:1', 'linear_1_1:1', 'relu_1_2:1', 'output_1:1']
        >>> run["relu_1_2"].out.shape
        torch.Size([2, 3])
    """
    if unknown:
        raise _unknown_option(next(iter(unknown)))
    if save_mode not in get_args(SaveMode):
        raise ConfigurationError(
            f"save_mode takes {', '.join(map(repr, get_args(SaveMode)))}, and was given {save_mode!r}.",
            code="save_mode_invalid",
            remedy='save_mode="copy" keeps what each op produced, whatever happens later',
            given=save_mode,
        )
    options = _USUAL if capture is None else capture
    if not isinstance(options, CaptureOptions):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ArgumentTypeError(
            f"capture= takes tl.CaptureOptions(...), and was given {named_kind(options)}.",
            code="capture_invalid",
            remedy="capture=tl.CaptureOptions(recurrence_detection=False)",
            given=type(options).__name__,
        )
    if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(
            f"name= takes a string, and was given {name!r}.", code="name_invalid", remedy='name="baseline"', given=name
        )
    options = with_defaults(options)
    target = target_of(model)
    check_context()
    given = bind(target, *arguments(inputs, input_kwargs))
    refuse_parts(save, target.model)
    policy = save_policy(save, like, live_names(target.model))
    _check_arguments(options, policy, save)
    settle_allocator()
    keeper = Keeper(save_mode, detach=options.detach_saved_activations, compact=policy.mode == "some")
    with torch_function_disabled():
        run = _Run(target, given, policy, keeper, options, name)
    return run.trace()


def _check_arguments(options: CaptureOptions, policy: SavePolicy, save: SaveOption) -> None:
    if options.save_args and policy.mode != "all":
        raise ConfigurationError(
            f"save_args=True keeps the arguments of every call, and save={save!r} leaves some of their values out.",
            code="save_args_incomplete",
            remedy='trace with save="all", or without save_args',
            save=repr(save),
        )


_USUAL = CaptureOptions()
"""Frozen, so that one serves every trace."""
_CAPTURE_FIELDS = frozenset(field.name for field in fields(CaptureOptions))


def _unknown_option(option: str) -> ArgumentTypeError:
    if option in _CAPTURE_FIELDS:
        return ArgumentTypeError(
            f"{option} is an option of the capture.",
            code="unknown_option",
            remedy=f"tl.trace(..., capture=tl.CaptureOptions({option}=...))",
            option=option,
        )
    known = ("inputs", "input_kwargs", *option_names(trace))
    remedy = f'an argument of the model goes into input_kwargs={{"{option}": ...}}'
    return unknown_option("tl.trace", option, known, remedy)


@final
class _Run:
    """One call of `trace`, from checked arguments to the finished trace."""

    def __init__(
        self,
        target: Target,
        given: Given,
        policy: SavePolicy,
        keeper: Keeper,
        options: CaptureOptions,
        name: str | None,
    ) -> None:
        self._target = target
        self._args = given.args
        self._kwargs = given.kwargs
        self._policy = policy
        self._options = options
        self._name = name
        self._builder = TraceBuilder()
        spread = may_be_distributed()
        if spread:
            check_distributed(target.model, given.named())
        self._references = keeper.references
        try:
            self._recorder = Recorder(self._builder, target.model, policy, keeper, _run.__code__)
        except (AttributeError, KeyError):
            check_initialised(target.model)
            raise
        sources = self._recorder.sources
        self._inputs = list(given.tensors())
        tensors = [*self._inputs, *sources.unusual_state()]
        if spread:
            kinds = {*sources.classes, *(type(tensor) for _, tensor in tensors)}
            check_distributed_kinds(target.model, kinds, given.named())
        check_tensors(tensors)
        warn_of_kinds(sources.classes)
        self._diagnostics = Diagnostics(self._recorder, options)
        self._surroundings: Surroundings | None = None
        if options.save_args or options.save_rng:
            self._surroundings = Surroundings(self._builder, options, sources.params)
            self._recorder.attend(self._surroundings)

    def trace(self) -> Trace:
        start = perf_counter_ns()
        try:
            with recording:
                trace = self._record(start)
        except BaseException as error:
            partial = self._finish(start, "failed", None, reason=_in_one_line(error))
            with suppress(AttributeError):  # an exception class may refuse attributes
                error.partial_trace = partial  # pyright: ignore[reportAttributeAccessIssue]
            raise
        finally:
            self._recorder.close()
        self._diagnostics.report(trace)
        self._policy.finish(trace)
        return trace

    def _record(self, start: int) -> Trace:
        recorder = self._recorder
        install(recorder.calls, recorder.boundaries)
        try:
            with torch_function_disabled():
                for address, tensor in self._inputs:
                    recorder.input(address, tensor)
                recorder.origins.prepare()
            with _without_gradients(self._options), recorder.boundaries.eagerly, self._diagnostics.watching():
                result = _run(recorder, self._target, self._args, self._kwargs)
            with torch_function_disabled(), _without_gradients(self._options):
                paths = iter([path.removeprefix(".") for path, _ in tensors_in(result)])
                output = replaced(result, lambda tensor: recorder.output(next(paths, ""), tensor))
        finally:
            remove()
        with torch_function_disabled():
            recorder.reader.check_state(self._inputs)
            if self._references:
                recorder.writes.mark_references(self._builder.ops)
        recorder.writes.check_buffers()
        self._diagnostics.settle()
        return self._finish(start, "complete", output)

    def _finish(self, start: int, outcome: Literal["complete", "failed"], output: object, *, reason: str = "") -> Trace:
        self._recorder.sources.settle()
        if self._surroundings is not None:
            self._surroundings.settle()
        kind = type(self._target.model).__name__
        stem = kind.lower()
        return self._builder.finish(
            TraceInfo(
                name=self._name or f"{stem}_{next(_numbers[stem])}",
                backend="torch",
                model_class_name=kind,
                framework_version=torch.__version__,
                duration_ns=perf_counter_ns() - start,
                outcome=outcome,
                options=self._options,
                grad_enabled=torch.is_grad_enabled() and not self._options.inference_only,
                output=output,
                saved=self._policy.asked,
                stop_reason=reason,
            )
        )


def _in_one_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message; its own `__str__`, which may raise, is not asked."""
    message = next((one for one in error.args if isinstance(one, str)), "").strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


_NOTHING = nullcontext()


def _without_gradients(options: CaptureOptions) -> AbstractContextManager[object]:
    return torch.no_grad() if options.inference_only else _NOTHING


def _run(recorder: Recorder, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run the model under the recorder. The stack of a recorded call ends at this function."""
    with recorder:
        if target.method == "__call__":
            return target.run(args, kwargs)
        return recorder.calls.method_call(target.function, target.model, args, kwargs)
