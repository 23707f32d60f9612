"""Which module is running: calls of modules, and methods that are called directly."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, final

from torch import nn

from tl_torch._compiled import source_of
from tl_torch._frames import frame_at
from tl_torch._torch_private import current_functorch_level, has_forward_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from tl_core import Frames, ModuleCallRecord, ModuleRecord
    from tl_torch._capture import Recorder
    from tl_torch._handover import Unchanged
    from tl_torch._sources import KnownModule

_LOCALS_ARE_LIVE = sys.version_info >= (3, 13)


@final
class ModuleCalls:
    """Follows the module calls of one run."""

    __slots__ = ("_recorder", "direct", "own", "running", "site", "unchanged")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.site: Frames | None = None
        """Call site of everything inside the innermost call, where no code of the user runs in it."""
        self.own: frozenset[int] = frozenset()
        """Identities of the code that makes up the forward of the innermost running module."""
        self.running: list[ModuleCallRecord] = []
        """Calls that are under way, outermost first."""
        self.direct: list[tuple[FrameType, ModuleCallRecord]] = []
        self.unchanged: list[Unchanged] = []
        """Tensors that a function gave back as they were, inside the innermost call."""

    def module_call(
        self, original: Callable[..., Any], module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any],
        site: Frames | None = None, method: str = "forward",
    ) -> Any:  # fmt: skip
        """Run a module call and note what goes in and what comes out; the stack of what runs inside ends here.

        All in one function, which every module call passes through.
        """
        recorder = self._recorder
        frames, handover = recorder.frames, recorder.handover
        if site is None:
            if current_functorch_level() is not None:  # inside a transform, which is one op
                return original(module, *args, **kwargs)
            frame: Any = frame_at(3)  # beyond the two functions that every module call goes through
            if id(frame.f_code) in self.own and not self.direct and frame.f_back.f_back.f_code is RUN:
                site = frames.at(frame)  # what runs is the forward of the module around it
            else:
                site = self._site_of_call(frame)
        known = recorder.sources.modules.get(id(module)) or recorder.sources.late(module)
        call = recorder.builder.enter(known.record, method)
        call.inputs = handover.ops_in(args[0] if len(args) == 1 and not kwargs else (args, kwargs))
        call.site = site
        closed = known.closed and not has_forward_hooks(module)
        outer = self.direct, self.site, self.unchanged, self.own, frames.tail
        unchanged: list[Unchanged] = []
        self.direct, self.site, self.unchanged = [], site if closed else None, unchanged
        self.own, frames.tail = known.kind.forward, site
        self.running.append(call)
        try:
            if known.kind.compiled and (source := source_of(module)) is not None:
                result = source(*args, **kwargs)
            else:
                result = original(module, *args, **kwargs)
            call.outputs = handover.returned(result, call) if handover.decides else handover.ops_in(result)
            if unchanged:
                outer[2].extend(handover.leave_unchanged(unchanged, result))
        finally:
            if self.direct:
                self._leave_direct()
            self.direct, self.site, self.unchanged, self.own, frames.tail = outer
            self.running.pop()
            recorder.builder.exit(call)
        return result

    def _site_of_call(self, frame: FrameType) -> Frames:
        """Where the module call stands that `frame` makes."""
        frames = self._recorder.frames
        site = frames.walk(frame)
        if self.direct or id(frame.f_code) not in self.own:
            self.attribute(frames.method_frames)
        frames.method_frames.clear()
        return site

    def site_of_op(self, frame: Any) -> Frames:
        """Where a call of torch stands that `frame` makes; opens and closes the calls of methods that run by themselves."""
        frames = self._recorder.frames
        if id(frame.f_code) in self.own and not self.direct and frame.f_back.f_back.f_code is RUN:
            return frames.at(frame)
        site = frames.walk(frame)
        methods = frames.method_frames
        if self.direct or (methods and (len(methods) > 1 or id(methods[0].f_code) not in self.own)):
            self.attribute(methods)
        methods.clear()  # a frame keeps what its function holds
        return site

    def method_call(
        self, function: Callable[..., Any], model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Run a method of the root model in place of a call of the model."""

        def original(_model: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return self.module_call(original, model, args, kwargs, (), function.__name__)

    def _known(self, module: nn.Module) -> KnownModule:
        sources = self._recorder.sources
        known = sources.modules.get(id(module))
        if known is None:  # built while the model runs, or held where no attribute leads
            known = sources.late(module)
        return known

    def attribute(self, frames: list[FrameType]) -> None:
        """Open and close calls of modules whose methods run without the module having been called.

        Args:
            frames: frames of module methods inside the innermost module call, innermost first.
        """
        own = self.own
        if frames and own:
            met: set[int] = set()
            while frames and (key := id(frames[-1].f_code)) in own and key not in met:
                met.add(key)
                frames.pop()
        if not frames and not self.direct:
            return
        builder = self._recorder.builder
        current = self.running[-1].module if self.running else None
        wanted: list[tuple[FrameType, ModuleRecord]] = []
        for frame in reversed(frames):
            if frame.f_code.co_name == "__init__":  # a module that is being built has no place in the model yet
                break
            module = _self_of(frame)
            if not isinstance(module, nn.Module):
                continue
            record = self._known(module).record
            if record is not current:
                wanted.append((frame, record))
                current = record
        direct = self.direct
        if not wanted and not direct:  # all of them are methods of the module that is running
            return
        kept = 0
        while kept < min(len(direct), len(wanted)) and direct[kept][0] is wanted[kept][0]:
            kept += 1
        while len(direct) > kept:
            builder.exit(direct.pop()[1])
        for frame, record in wanted[kept:]:
            direct.append((frame, builder.enter(record, frame.f_code.co_name)))

    def close(self) -> None:
        """Break the tie between the recorder and its followers, so that neither waits for a garbage collection."""
        del self._recorder

    def _leave_direct(self) -> None:
        while self.direct:
            self._recorder.builder.exit(self.direct.pop()[1])


RUN = ModuleCalls.module_call.__code__
"""The code at which the stack inside a module call ends."""


def _self_of(frame: FrameType) -> object:
    code = frame.f_code
    if not code.co_argcount:
        return None
    name = code.co_varnames[0]
    known = frame.f_locals
    value = known.get(name)
    if not _LOCALS_ARE_LIVE:
        known.clear()  # the copy that older Pythons keep would hold every local until the function returns
    return value
