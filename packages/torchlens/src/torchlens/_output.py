"""What the commands print: text that fits the encoding of standard output, and readers that go away."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, cast

import tl_core

if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

READER_GONE = 141
"""Exit status where the reader of a pipe has seen enough, as a shell reports a program that SIGPIPE ended."""

PLAIN = str.maketrans("─│├└╭╮╰╯×·…→\N{MICRO SIGN}\N{REPLACEMENT CHARACTER}", "-||`++++x-~>u?")
"""One plain character for each that tables are made of."""


def print_text(text: str) -> None:
    """Write text to standard output; what its encoding lacks is spelled out.

    Raises:
        BrokenPipeError: nobody reads any more.
        ArtifactError: standard output is closed or cannot be written (`output_failed`).
    """
    stream = sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison] - so it is where a shell closed it
        raise _unwritable("it is closed")
    try:
        stream.write(encodable(f"{text}\n", stream.encoding or "utf-8"))
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise _unwritable(error.strerror or str(error)) from error


def encodable(text: str, encoding: str) -> str:
    """The text as it is where `encoding` has all of it; else its tables in plain characters, the rest as escapes.

    Example:
        >>> encodable("├─ 层 (Linear)", "ascii")
        '|- \\\\u5c42 (Linear)'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def printable(line: str) -> str:
    """A line without the control characters that a name may hold."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def spell_out_what_is_missing() -> None:
    """Let standard output escape what its encoding lacks, whoever writes to it."""
    stream: TextIO = sys.stdout
    if isinstance(stream, TextIOWrapper):
        cast("TextIOWrapper[BinaryIO]", stream).reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Send what is still to be written nowhere, so that Python does not complain when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _unwritable(why: str) -> tl_core.ArtifactError:
    return tl_core.ArtifactError(
        f"Cannot write to standard output: {why}.",
        code="output_failed",
        remedy="print to a terminal, or to a file that can be written",
        cause=why,
    )
