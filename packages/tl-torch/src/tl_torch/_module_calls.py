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
        self, original: Callable[..., Any], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a module call and note what went in and what came out."""
        if current_functorch_level() is not None:  # inside a transform, which is one op
            return original(module, *args, **kwargs)
        recorder = self._recorder
        frame: Any = frame_at(3)  # beyond the two functions that every module call goes through
        if id(frame.f_code) in self.own and not self.direct and frame.f_back.f_back.f_code is RUN:
            site = recorder.frames.at(frame)  # what runs is the forward of the module around it
        else:
            site = self._site_of_call(frame)
        known = recorder.sources.modules.get(id(module)) or recorder.sources.late(module)
        call = recorder.builder.enter(known.record)
        if known.kind.compiled and (source := source_of(module)) is not None:
            return self.run(call, known, (args, kwargs), site, source, args, kwargs)
        given = args[0] if len(args) == 1 and not kwargs else (args, kwargs)
        return self.run(call, known, given, site, original, (module, *args), kwargs)

    def _site_of_call(self, frame: FrameType) -> Frames:
        """Where the module call stands that `frame` makes."""
        frames = self._recorder.frames
        site = frames.walk(frame)
        if self.direct or id(frame.f_code) not in self.own:
            self.attribute(frames.method_frames)
        frames.method_frames.clear()
        return site

    def method_call(
        self, function: Callable[..., Any], model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Run a method of the root model in place of a call of the model."""
        known = self._known(model)
        call = self._recorder.builder.enter(known.record, function.__name__)
        return self.run(call, known, (args, kwargs), (), function, args, kwargs)

    def run(
        self, call: ModuleCallRecord, known: KnownModule, given: object, site: Frames, function: Callable[..., Any],
        args: Sequence[Any], kwargs: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        """Run what a call consists of and note what came out; the stack of what runs inside ends here."""
        recorder = self._recorder
        frames, handover = recorder.frames, recorder.handover
        call.inputs = handover.ops_in(given)
        call.site = site
        outer, self.direct = self.direct, []
        closed = known.closed and not has_forward_hooks(known.module)
        outer_site, self.site = self.site, site if closed else None
        outside, self.unchanged = self.unchanged, []
        own, self.own = self.own, known.kind.forward
        tail, frames.tail = frames.tail, site
        self.running.append(call)
        try:
            result = function(*args, **kwargs)
            call.outputs = handover.returned(result, call) if handover.decides else handover.ops_in(result)
            if self.unchanged:
                outside.extend(handover.leave_unchanged(self.unchanged, result))
        finally:
            if self.direct:
                self._leave_direct()
            self.direct = outer
            self.unchanged = outside
            self.own = own
            self.site = outer_site
            frames.tail = tail
            self.running.pop()
            recorder.builder.exit(call)
        return result

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


RUN = ModuleCalls.run.__code__
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
