"""The places where torch offers no seam and capture has to stand in for a function while it runs.

| what is replaced | why | restored |
|---|---|---|
| the code of `nn.Module._call_impl` | Global module hooks fire inside the user's own hooks, so they see neither what the caller passed nor what it received, and they put every module on the slow path. An attribute of the class is not assigned where that can be avoided: Python 3.13 gives up caching a class after 1,000 changes, and every module call would be slower from then on. | by identity when the last running capture ends: `tests/unit/test_seams.py` |
| `ScriptFunction.__call__`, `ScriptMethod.__call__` | TorchScript runs without Python: a call arrives in no mode. | `tests/unit/test_honesty_scripts.py` |
| `vmap_impl`, `grad_impl`, `grad_and_value_impl`, `_vjp_with_argnums`, `_jvp_with_argnums` of functorch | The functions inside a transform arrive with tensors of its level; its own call and its result do not. | `tests/unit/test_honesty_transforms.py` |
| `FunctionCtx.mark_dirty` | An `autograd.Function` that says it has written moves the version counter once more when it ends; without its word that is a write of unknown origin. | `tests/unit/test_marked_writes.py` |
| `torch.autograd._engine_run_backward` | `torch.autograd.backward` returns nothing: what it leaves in `.grad` would have no producer. Every backward pass goes through here, however it was asked for. | `tests/unit/test_backward.py` |
| the code of `torch.overrides.handle_torch_function` | Every function of torch that is written in Python reaches a function mode through it. It looks for overriding classes among the arguments and enters a generator to set the mode aside, which costs more than our record of the call. The modules of torch import it by name: only other code for it reaches them all. | by identity: `tests/unit/test_seams.py` |
| `torch.compile` | Torch compiles `torch.cond` and its like to run them, which a function mode would disturb; what the model compiles while it runs has to run as its source. | `tests/unit/test_compiled.py` |
| `torch._dynamo.eval_frame.set_eval_frame`, before torch 2.6 only | Compiled functions have to run as their source; from 2.6 on `torch.compiler.set_stance` does that. | `tests/unit/test_compiled.py` |

Each other replacement asks for the running thread first: other threads run as ever.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Protocol, final

import torch
from torch.autograd.function import FunctionCtx

from tl_torch._torch_private import (
    SCRIPT_CALLERS,
    backward_engine,
    eval_frame_module,
    mode_caller,
    module_call_function,
    script_callers,
    set_module_call_function,
    transform_functions,
    transforms_loaded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from torch import nn


class ModuleCallHandler(Protocol):
    """Who is told of module calls on the thread that it was installed for."""

    def module_call(
        self, original: Callable[..., Any], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the call and return what the caller is to receive."""
        ...


class BoundaryHandler(Protocol):
    """Who is told of calls whose insides no mode sees."""

    def scripted_call(self, original: Callable[..., Any], function: Any, args: Any, kwargs: Any) -> Any:
        """Run a TorchScript function."""
        ...

    def transform_call(self, kind: str, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a transform of `torch.func`."""
        ...

    def compile_call(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run `torch.compile`."""
        ...

    def python_call(
        self, original: Callable[..., Any], function: Callable[..., Any], relevant: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run a function of torch that is written in Python, as `handle_torch_function` does."""
        ...

    def backward_call(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run the engine of autograd."""
        ...

    def marked_dirty(self, context: Any, tensors: tuple[Any, ...]) -> None:
        """Note that an `autograd.Function` says it has written into some of its arguments."""
        ...


_Replacement = tuple[Any, str, "Callable[..., Any]", "Callable[..., Any]"]
"""Owner, name, what stands there, and what stands in for it."""

_lock = threading.Lock()
_handlers: dict[int, ModuleCallHandler] = {}
_boundaries: dict[int, BoundaryHandler] = {}
_replaced: list[_Replacement] = []
_prepared: list[_Replacement] = []
"""Replacements of the last time, to be used again while nothing else has changed."""


def _module_template(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
    find: Any = "find"  # the things themselves stand in the place of these names
    ident: Any = "ident"
    original: Any = "original"
    handler: Any = find(ident())
    if handler is None:
        return original(self, *args, **kwargs)
    return handler.module_call(original, self, args, kwargs)


def _python_template(public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    find: Any = "find"
    ident: Any = "ident"
    original: Any = "original"
    handler: Any = find(ident())
    if handler is None:
        return original(public_api, relevant_args, *args, **kwargs)
    return handler.python_call(original, public_api, relevant_args, args, kwargs)


@final
class _OtherCode:
    """Other code for a function of torch, which keeps its identity and its place."""

    __slots__ = ("_code", "_find", "_function", "_replacement", "_template")

    def __init__(self, template: Callable[..., Any], find: Callable[[int], Any]) -> None:
        self._template: CodeType = template.__code__  # pyright: ignore[reportFunctionMemberAccess]
        self._find = find
        self._function: FunctionType | None = None
        self._code = self._replacement = self._template

    def standing_in(self, original: Callable[..., Any], name: str) -> FunctionType:
        """What stands in for `original`, without closure and without globals, so that its code runs anywhere."""
        known: dict[object, object] = {"find": self._find, "ident": threading.get_ident, "original": original}
        code = self._template  # all of them can be hashed, so the code can, as debuggers and profilers do
        constants = tuple([known.get(value, value) for value in code.co_consts])
        return FunctionType(code.replace(co_consts=constants, co_name=name), {}, name)

    def enter(self, function: Callable[..., Any]) -> bool:
        """Give `function` the other code, where that can be; whether it could."""
        if not isinstance(function, FunctionType) or function.__code__.co_freevars:
            return False
        code = function.__code__
        if self._function is not function or self._code is not code:
            original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
            original.__kwdefaults__ = function.__kwdefaults__
            self._function, self._code = function, code
            self._replacement = self.standing_in(original, function.__name__).__code__
        function.__code__ = self._replacement
        return True

    def leave(self) -> None:
        """Put back the code that was there, unless somebody else has changed it since."""
        function = self._function
        if function is not None and function.__code__ is self._replacement:
            function.__code__ = self._code


_module_code = _OtherCode(_module_template, _handlers.get)
_python_code = _OtherCode(_python_template, _boundaries.get)
_assigned: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
"""What runs when a module is called and what stands in for it, where it can be given no other code."""


def _enter_modules() -> None:
    """Send module calls to the handlers; where it can be, by other code for the function that is there."""
    function = module_call_function()
    if not _module_code.enter(function):
        _assigned[:] = [(function, _module_code.standing_in(function, "_call_impl"))]
        set_module_call_function(_assigned[0][1])


def _leave_modules() -> None:
    """Put back what was there, unless somebody else has changed it since."""
    if not _assigned:
        _module_code.leave()
        return
    function, replacement = _assigned.pop()
    if module_call_function() is replacement:
        set_module_call_function(function)


def _scripted(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        handler = _boundaries.get(threading.get_ident())
        if handler is None:
            return original(self, *args, **kwargs)
        return handler.scripted_call(original, self, args, kwargs)

    return __call__


def _telling(
    original: Callable[..., Any], told: Callable[[BoundaryHandler], Callable[[Callable[..., Any], Any, Any], Any]]
) -> Callable[..., Any]:
    """What stands in for a function and hands each call to a method of the handler, with no frame in between."""

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        handler = _boundaries.get(threading.get_ident())
        if handler is None:
            return original(*args, **kwargs)
        return told(handler)(original, args, kwargs)

    return stand_in


def _transform(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    return _telling(original, lambda handler: functools.partial(handler.transform_call, kind))


def _mark(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def mark_dirty(self: Any, *args: Any) -> None:
        original(self, *args)
        handler = _boundaries.get(threading.get_ident())
        if handler is not None:
            handler.marked_dirty(self, args)

    return mark_dirty


def running() -> ModuleCallHandler | None:
    """The handler of the running thread, where a capture is under way."""
    return _handlers.get(threading.get_ident())


def install(handler: ModuleCallHandler, boundaries: BoundaryHandler | None = None) -> None:
    """Send the module calls of the running thread through `handler`, and what no mode sees through `boundaries`."""
    with _lock:
        if not _handlers:
            _enter_modules()
            _python_code.enter(mode_caller())
            _replace_all()
        _handlers[threading.get_ident()] = handler
        if boundaries is not None:
            _boundaries[threading.get_ident()] = boundaries


def remove() -> None:
    """End what `install` began on the running thread."""
    with _lock:
        _handlers.pop(threading.get_ident(), None)
        _boundaries.pop(threading.get_ident(), None)
        if not _handlers:
            _leave_modules()
            _python_code.leave()
            _restore_all()


def _replace_all() -> None:
    if not _is_prepared():
        callers = [(owner, name, original, _scripted(original)) for owner, name, original in script_callers()]
        transforms = [
            (owner, name, original, _transform(kind, original)) for owner, name, original, kind in transform_functions()
        ]
        compiles, marks = vars(torch)["compile"], vars(FunctionCtx)["mark_dirty"]
        owner, engine, runs = backward_engine()
        others = [
            (owner, engine, runs, _telling(runs, lambda handler: handler.backward_call)),
            (torch, "compile", compiles, _telling(compiles, lambda handler: handler.compile_call)),
            (FunctionCtx, "mark_dirty", marks, _mark(marks)),
        ]
        _prepared[:] = [*callers, *transforms, *others]
    for owner, name, _, replacement in _prepared:
        setattr(owner, name, replacement)
    _replaced[:] = _prepared


def _is_prepared() -> bool:
    """Whether the last replacements stand for what is there now, and nothing was loaded since."""
    if len(_prepared) != len(SCRIPT_CALLERS) + transforms_loaded() + 3:
        return False
    return all(vars(owner)[name] is original for owner, name, original, _ in _prepared)


def _restore_all() -> None:
    for owner, name, original, replacement in _replaced:
        if vars(owner)[name] is replacement:
            setattr(owner, name, original)
    _replaced.clear()


@contextmanager
def suspended() -> Generator[None, None, None]:
    """Put everything back for the running thread in between."""
    key = threading.get_ident()
    handler, boundaries = _handlers[key], _boundaries.get(key)
    remove()
    try:
        yield
    finally:
        install(handler, boundaries)


_held_off: list[int] = []
"""Threads on which compiled functions run as their source, on torch before 2.6."""


@contextmanager
def compiler_held_off() -> Generator[None, None, None]:
    """Have compiled functions of the running thread run as their source."""
    module = eval_frame_module()
    assert module is not None
    key = threading.get_ident()
    with _lock:
        if not _held_off:
            _eval_frame[:] = [module.set_eval_frame]
            module.set_eval_frame = _set_eval_frame
        _held_off.append(key)
    try:
        yield
    finally:
        with _lock:
            _held_off.remove(key)
            if not _held_off:
                module.set_eval_frame = _eval_frame[0]


_eval_frame: list[Callable[..., Any]] = []


def _set_eval_frame(callback: Any) -> Any:
    return _eval_frame[0](None if threading.get_ident() in _held_off else callback)
