"""Where in the user's code a call stands."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from opcode import opmap
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from types import CodeType

    from tl_core._record import Frames


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of source text; lines count from 1, columns from 0 and in bytes of UTF-8, ends are exclusive in columns."""

    line: int
    end_line: int
    column: int
    end_column: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One frame of a call site."""

    file: str
    """Base name of the source file."""
    line: int
    """1-based line; 0 where it is unknown."""
    function: str
    """Name of the function."""
    path: str | None = None
    """Absolute path of the source file; None on a loaded trace."""
    span: Span | None = None
    """The expression that was running; None on a loaded trace and where Python does not tell."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@lru_cache(maxsize=65536)
def span_of(code: CodeType, offset: int) -> Span | None:
    """Source span of an instruction.

    Args:
        code: the code object.
        offset: offset of the instruction in bytes, as `frame.f_lasti` gives it.
    """
    found = next(islice(code.co_positions(), offset // 2, None), None)
    if found is None:
        return None
    line, end_line, column, end_column = found
    if line is None:
        return None
    return Span(
        line=line,
        end_line=line if end_line is None else end_line,
        column=0 if column is None else column,
        end_column=0 if end_column is None else end_column,
    )


_LOOPS = frozenset(code for name, code in opmap.items() if "BACKWARD" in name)
"""Instructions that end a round of a loop."""
_TESTED_LOOPS = frozenset(code for name, code in opmap.items() if "BACKWARD_IF" in name) or _LOOPS
"""Those that end a round by a test, where Python has any: the test of `while` is compiled twice."""


def twins(code: CodeType) -> dict[int, int]:
    """Instructions that Python compiled more than once, such as the test of a `while`: by offset, that of the first."""
    instructions = code.co_code[::2]
    if _TESTED_LOOPS.isdisjoint(instructions):
        return {}
    first: dict[object, int] = {}
    found: dict[int, int] = {}
    for number, (opcode, position) in enumerate(zip(instructions, code.co_positions(), strict=False)):
        if None not in position:
            earlier = first.setdefault((opcode, position), 2 * number)
            if earlier != 2 * number:
                found[2 * number] = earlier
    return found


@lru_cache(maxsize=65536)
def line_of(code: CodeType, offset: int) -> int:
    """1-based line of an instruction; 0 where Python does not tell."""
    for start, stop, line in code.co_lines():
        if start <= offset < stop and line is not None:
            return line
    return 0


def source_line(code: CodeType, offset: int) -> SourceLine:
    """The frame of a live call site."""
    path = code.co_filename
    return SourceLine(
        file=os.path.basename(path),
        line=line_of(code, offset),
        function=code.co_name,
        path=path if os.path.isabs(path) else None,
        span=span_of(code, offset),
    )


def stack_of(frames: Frames) -> tuple[SourceLine, ...]:
    """Frames of a call site, live or loaded, innermost first."""
    return tuple([_line(frame) for frame in frames])


@lru_cache(maxsize=65536)
def _places(frames: Frames) -> tuple[tuple[str, str, int], ...]:
    """File, function and line of every frame of a call site."""
    return tuple(
        [
            (os.path.basename(frame[0].co_filename), frame[0].co_name, line_of(frame[0], frame[1]))
            if len(frame) == 2
            else (frame[0], frame[2], frame[1])
            for frame in frames
        ]
    )


def _line(frame: tuple[CodeType, int] | tuple[str, int, str]) -> SourceLine:
    if len(frame) == 2:
        return source_line(frame[0], frame[1])
    file, line, function = frame
    return SourceLine(file=file, line=line, function=function)


@final
class Source:
    """The call site of an op: `op.source`. Two are equal where the calls stand on the same line of the same function."""

    __slots__ = ("_frames",)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    @property
    def file(self) -> str:
        """Base name of the innermost user file."""
        return self._innermost.file

    @property
    def line(self) -> int:
        """1-based line in it."""
        return self._innermost.line

    @property
    def function(self) -> str:
        """Function that made the call."""
        return self._innermost.function

    @property
    def path(self) -> str | None:
        """Absolute path of the file; None on a loaded trace, which knows base names only."""
        return self._innermost.path

    @property
    def span(self) -> Span | None:
        """Lines and columns of the call; None on a loaded trace."""
        return self._innermost.span

    @property
    def stack(self) -> tuple[SourceLine, ...]:
        """User frames from the call outwards; at most twelve."""
        return stack_of(self._frames)

    @property
    def places(self) -> tuple[tuple[str, str, int], ...]:
        """Base name of the file, function and line of every frame in `stack`; the same tuple for equal call sites."""
        return _places(self._frames)

    def code(self, context: int = 0) -> str:
        """Source text of the line, with `context` lines before and after; empty where the file cannot be read."""
        path = self.path
        if path is None:
            return ""
        lines = range(max(1, self.line - context), self.line + context + 1)
        return "".join(linecache.getline(path, line) for line in lines)

    @property
    def _innermost(self) -> SourceLine:
        return stack_of(self._frames[:1])[0]

    def _place(self) -> tuple[str, int, str]:
        line = self._innermost
        return line.path or line.file, line.line, line.function

    def __eq__(self, other: object) -> bool:
        return self._place() == other._place() if isinstance(other, Source) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._place())

    def __str__(self) -> str:
        return str(self._innermost)

    def __repr__(self) -> str:
        return f"<Source {self}>"
