"""Where a call came from: the user's frames, framework frames skipped, cut at the call of `trace`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast, final

import torch

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from tl_core import Frames

MAX_FRAMES = 12
"""How many user frames a call site keeps."""

_FRAMEWORK_FOLDERS = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_USER, _METHOD, _FRAMEWORK, _FRAMEWORK_METHOD, _ENTRY, _MODULE_CALL = range(6)


@final
class FrameWalker:
    """Walks the stack of the running thread; one object a run, so that equal call sites are one tuple."""

    __slots__ = ("_methods", "_roles", "_run", "_sites", "entry", "method_frames", "tail")

    def __init__(self, entry: CodeType, run: CodeType, methods: frozenset[int]) -> None:
        self.entry = entry
        """Code at which the stack of a recorded call ends."""
        self.tail: Frames = ()
        """Call site of the innermost running module call: where the stack of everything inside it goes on."""
        self.method_frames: list[FrameType] = []
        """Frames of module methods that the last walk met inside the innermost module call, innermost first."""
        self._run = run
        self._methods = methods
        self._roles: dict[int, tuple[CodeType, int]] = {}
        self._sites: dict[tuple[int, ...], Frames] = {}

    def _role(self, code: CodeType) -> int:
        if code is self.entry:
            role = _ENTRY
        elif code is self._run:
            role = _MODULE_CALL
        elif code.co_filename.startswith(_FRAMEWORK_FOLDERS):
            role = _FRAMEWORK_METHOD if id(code) in self._methods else _FRAMEWORK
        else:
            role = _METHOD if id(code) in self._methods else _USER
        self._roles[id(code)] = (code, role)
        return role

    def at(self, frame: FrameType) -> Frames:
        """User frames from `frame` outwards, where nothing but it runs inside the innermost module call."""
        code = frame.f_code
        known = self._roles.get(id(code))
        if (known[1] if known is not None else self._role(code)) > _METHOD:
            return self.tail
        site = (id(code), frame.f_lasti, id(self.tail))
        frames = self._sites.get(site)
        if frames is None:
            frames = self._sites[site] = cast("Frames", ((code, frame.f_lasti), *self.tail)[:MAX_FRAMES])
        return frames

    def where(self, frame: FrameType | None) -> Frames:
        """User frames from `frame` outwards, innermost first."""
        frames = self.walk(frame)
        self.method_frames.clear()
        return frames

    def walk(self, frame: FrameType | None) -> Frames:
        """User frames from `frame` outwards; leaves the frames of methods for the caller to use and to clear."""
        methods = self.method_frames = []
        key: list[int] = []
        pairs: list[tuple[CodeType, int]] = []
        roles = self._roles
        tail: Frames = ()
        while frame is not None:
            code = frame.f_code
            known = roles.get(id(code))
            role = known[1] if known is not None else self._role(code)
            if role <= _METHOD:
                lasti = frame.f_lasti
                key.append(id(code))
                key.append(lasti)
                pairs.append((code, lasti))
                if role == _METHOD:
                    methods.append(frame)
                if len(pairs) == MAX_FRAMES:
                    break
            elif role == _FRAMEWORK_METHOD:
                methods.append(frame)
            elif role == _MODULE_CALL:
                tail = self.tail
                break
            elif role == _ENTRY:
                break
            frame = frame.f_back
        if not pairs:
            return tail
        key.append(id(tail))
        site = tuple(key)
        frames = self._sites.get(site)
        if frames is None:
            frames = self._sites[site] = cast("Frames", (*pairs, *tail)[:MAX_FRAMES])
        return frames


frame_at = sys._getframe  # noqa: SLF001 - documented in `sys`, and the only way to a frame
"""The frame so many levels above the function that asks."""


def caller(depth: int) -> FrameType:
    """The frame `depth` levels above the function that asks."""
    return frame_at(depth + 1)


def asked_by_torch(frame: FrameType | None) -> bool:
    """Whether the innermost function outside ours that is running belongs to torch."""
    while frame is not None and frame.f_code.co_filename.startswith(_FRAMEWORK_FOLDERS[1]):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_FRAMEWORK_FOLDERS[0])
