"""Where a call came from: the user's frames, framework frames skipped, cut at the call of `trace`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast, final

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, FrameType

    from tl_core import Frames

MAX_FRAMES = 12
"""How many user frames a call site keeps."""

_FRAMEWORK_FOLDERS = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_USER, _METHOD, _FRAMEWORK, _FRAMEWORK_METHOD, _ENTRY, _MODULE_CALL = range(6)


@final
class FrameWalker:
    """Walks the stack of the running thread; one object a run, so that equal call sites are one tuple."""

    __slots__ = ("entry", "_methods", "_run", "_roles", "_sites", "_tails", "method_frames")

    def __init__(self, entry: CodeType, run: CodeType, methods: frozenset[int]) -> None:
        self.entry = entry
        """Code at which the stack of a recorded call ends."""
        self._methods = methods
        self.method_frames: list[FrameType] = []
        """Frames of module methods that the last walk met inside the innermost module call, innermost first."""
        self._run = run
        self._roles: dict[int, tuple[CodeType, int]] = {}
        self._sites: dict[tuple[int, ...], Frames] = {}
        self._tails: dict[object, Frames] = {}

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

    def enter(self, call: object, frame: FrameType, outer: object) -> None:
        """Note where `call` was made: at `frame`, the forward of the module call `outer` and all that runs inside it."""
        tail = self._tails.get(outer)
        if tail is None:
            return  # it is walked once an op needs it
        code = frame.f_code
        known = self._roles.get(id(code))
        if (known[1] if known is not None else self._role(code)) <= _METHOD:
            site = (id(code), frame.f_lasti, id(tail))
            found = self._sites.get(site)
            if found is None:
                found = self._sites[site] = cast("Frames", ((code, frame.f_lasti), *tail)[:MAX_FRAMES])
            tail = found
        self._tails[call] = tail

    def walk(self, frame: FrameType | None, running: Sequence[object], depth: int) -> Frames:
        """User frames from `frame` outwards, innermost first.

        `running[:depth]` are the module calls that are under way. The part of the stack outside the innermost of them
        is the same for all calls inside it, so it is walked once and kept.
        """
        methods = self.method_frames = []
        return self._walk(frame, running, depth, methods)

    def _walk(self, frame: FrameType | None, running: Sequence[object], depth: int, methods: list[FrameType]) -> Frames:
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
                call = running[depth - 1]
                known_tail = self._tails.get(call)
                if known_tail is None:
                    known_tail = self._tails[call] = self._walk(frame.f_back, running, depth - 1, [])
                tail = known_tail
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
