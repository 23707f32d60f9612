"""The shadow detector: a profile hook that looks for tensor work which the function seam does not show."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_torch._honesty import line_of
from tl_torch._torch_private import overridable_functions, quiet_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from tl_core import Frames

_OURS = os.path.dirname(__file__) + os.sep
_INVISIBLE = frozenset({
    "from_numpy", "frombuffer", "from_dlpack", "_from_dlpack", "as_subclass", "_make_subclass",
    "_make_wrapper_subclass", "_from_buffer",
})  # fmt: skip
"""Functions of torch that hand themselves to no mode."""
MAX_STACK = 12
MAX_REPORTS = 1000


@final
class ShadowDetector:
    """Watches the calls into C of one thread; a hook that was there before is called on."""

    def __init__(self, handler: CodeType) -> None:
        self._handler = handler
        self._depth = 0
        self._pending: list[Any] = []
        """Calls of torch functions that no mode has been shown yet, outermost first."""
        self._before: Callable[..., Any] | None = None
        self._overridable = overridable_functions()
        self._quiet = quiet_names()
        self.reports: list[dict[str, object]] = []

    def __enter__(self) -> ShadowDetector:
        self._before = sys.getprofile()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(self._before)
        self._pending.clear()

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._before is not None:
            self._before(frame, event, argument)
        if event == "call":
            if frame.f_code is self._handler:
                self._depth += 1
                if self._pending and self._depth == 1:
                    self._pending.pop()
        elif event == "return":
            if frame.f_code is self._handler:
                self._depth -= 1
        elif self._depth or frame.f_code.co_filename.startswith(_OURS):
            return
        elif event == "c_call":
            if self._is_tensor_work(argument):
                self._pending.append(argument)
        elif self._pending and self._pending[-1] is argument:
            self._pending.pop()
            if event == "c_return":
                self._report(argument, frame)

    def _is_tensor_work(self, function: Any) -> bool:
        name = function.__name__
        if name in _INVISIBLE:
            return True
        if isinstance(getattr(function, "__self__", None), torch.Tensor):
            return name not in self._quiet and not name.startswith("__")
        try:
            return function in self._overridable
        except TypeError:  # a bound method of something without a hash
            return False

    def _report(self, function: Any, frame: FrameType) -> None:
        if len(self.reports) >= MAX_REPORTS:
            return
        owner = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__name__
        self.add(f"{owner}.{function.__name__}", frame)

    def add(self, candidate: str, frame: FrameType) -> None:
        """Note one piece of unseen work."""
        self._add(candidate, "setprofile", _stack(frame))

    def add_dispatch(self, operator: str, frames: Frames, known: set[tuple[object, object]]) -> None:
        """Note an operator that no recorded call owns, unless its line was reported already."""
        pairs = cast("tuple[tuple[CodeType, int], ...]", frames)  # during capture they hold code objects
        stack = [(os.path.basename(code.co_filename), line_of(code, offset), code.co_name) for code, offset in pairs]
        if len(self.reports) < MAX_REPORTS and (not stack or stack[0][:2] not in known):
            self._add(operator, "dispatch", stack)

    def _add(self, candidate: str, backend: str, stack: list[tuple[str, int, str]]) -> None:
        file, line, function = stack[0] if stack else ("unknown", 0, "unknown")
        self.reports.append(
            {
                "violation_id": len(self.reports) + 1,
                "detector_backend": backend,
                "callable_candidates": (candidate,),
                "file": file,
                "line": line,
                "function": function,
                "owner_thread_id": threading.get_ident(),
                "stack": tuple([f"{name}:{number} in {code}" for name, number, code in stack]),
            }
        )


def _stack(frame: FrameType | None) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    while frame is not None and len(found) < MAX_STACK and not frame.f_code.co_filename.startswith(_OURS):
        found.append((os.path.basename(frame.f_code.co_filename), frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found
