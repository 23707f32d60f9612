"""The places where torch offers no seam and capture has to stand in for a function while it runs.

| what is replaced | why | restored |
|---|---|---|
| `nn.Module._call_impl` | Global module hooks fire inside the user's own hooks, so they see neither what the caller passed nor what it received, and they put every module on the slow path. | by identity when the last running capture ends: `tests/unit/test_seams.py` |

The replacement asks for the running thread first: modules called on other threads run as ever.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from tl_torch._torch_private import module_call_function, set_module_call_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


class ModuleCallHandler(Protocol):
    """Who is told of module calls on the thread that it was installed for."""

    def module_call(
        self, original: Callable[..., Any], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the call and return what the caller is to receive."""
        ...


_lock = threading.Lock()
_handlers: dict[int, ModuleCallHandler] = {}
_original: Callable[..., Any] = module_call_function()


def _call_impl(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
    handler = _handlers.get(threading.get_ident())
    if handler is None:
        return _original(self, *args, **kwargs)
    return handler.module_call(_original, self, args, kwargs)


def running() -> ModuleCallHandler | None:
    """The handler of the running thread, where a capture is under way."""
    return _handlers.get(threading.get_ident())


def install(handler: ModuleCallHandler) -> None:
    """Send the module calls of the running thread through `handler`."""
    global _original  # the one piece of process-wide state, guarded by the lock
    with _lock:
        if not _handlers:
            _original = module_call_function()
            set_module_call_function(_call_impl)
        _handlers[threading.get_ident()] = handler


def remove() -> None:
    """End what `install` began on the running thread."""
    with _lock:
        _handlers.pop(threading.get_ident(), None)
        if not _handlers and module_call_function() is _call_impl:
            set_module_call_function(_original)
