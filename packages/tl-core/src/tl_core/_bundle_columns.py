"""The tables of a bundle: one struct a kind of record, one list a field.

Strings, shapes and call stacks stand once and are referred to by position. -1 stands for "none".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from tl_core._bundle_aten import AtenColumns
from tl_core._bundle_template import Template

if TYPE_CHECKING:
    from tl_core._record import OpKind

OP_KINDS: tuple[OpKind, ...] = ("input", "buffer", "constant", "op", "output")
"""Kinds of ops by their code."""
FUNCTION_KEY = "function"
"""Key of `CallRecord.meta` under which a loaded call keeps the qualified name of its function."""

Codes = list[Annotated[int, msgspec.Meta(ge=-1)]]
"""Positions in another list, or -1."""
Numbers = list[Annotated[int, msgspec.Meta(ge=0)]]
Flags = list[Annotated[int, msgspec.Meta(ge=0, le=1)]]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Groups = list[tuple[Natural, ...]]
Names = list[tuple[str, ...]]
Arguments = list[dict[str, Template] | None]


class OpColumns(msgspec.Struct, kw_only=True):
    """All op records."""

    kind: Codes
    call: Codes
    position: Numbers
    parents: Groups
    shape: Codes
    dtype: Codes
    device: Codes
    requires_grad: Flags
    grad_fn: Codes
    payload: Codes
    address: Codes
    module: Codes
    own_params: Groups = []
    """One group an op, or none at all where no output of the model is a parameter."""


class CallColumns(msgspec.Struct, kw_only=True):
    """All function calls."""

    name: Codes
    kernel: Codes
    function: Codes
    """Qualified name of the function that was called; never its code."""
    args: list[tuple[Template, ...]]
    kwargs: Arguments
    params: Groups
    module: Codes
    stack: Codes
    duration_ns: Numbers
    inplace: Flags
    meta: Arguments


class ModuleCallColumns(msgspec.Struct, kw_only=True):
    """All module calls."""

    module: Codes
    number: Numbers
    parent: Codes
    first_op: Numbers
    stop_op: Numbers
    inputs: Groups
    outputs: Groups
    method: Codes


class ModuleColumns(msgspec.Struct, kw_only=True):
    """All modules."""

    address: list[str]
    aliases: Names
    class_name: Codes
    training: Flags
    params: Groups
    buffers: Groups
    children: Groups


class ParamColumns(msgspec.Struct, kw_only=True):
    """All parameters."""

    address: list[str]
    aliases: Names
    shape: Codes
    dtype: Codes
    device: Codes
    requires_grad: Flags
    value: Codes
    """Positions of values as the run read them, where the bundle holds arguments."""


class BufferColumns(msgspec.Struct, kw_only=True):
    """All buffers."""

    address: list[str]
    aliases: Names
    shape: Codes
    dtype: Codes
    device: Codes


class ReadColumns(msgspec.Struct, kw_only=True):
    """All reads of a value by Python."""

    kind: Codes
    op: Codes
    op_count: Numbers
    value: list[Template]
    stack: Codes


class GapColumns(msgspec.Struct, kw_only=True):
    """All gaps."""

    reason: Codes
    message: Codes
    op: Codes
    stack: Codes


class PayloadColumns(msgspec.Struct, kw_only=True):
    """Where each saved value lies; the regions themselves are listed by the header of the payload file."""

    checksum: Numbers
    """CRC-32 of each region, in order of their bytes."""
    region: Codes
    offset: Numbers
    dtype: Codes
    device: Codes
    shape: Codes
    strides: list[tuple[Natural, ...] | None]
    layout: list[tuple[Natural, ...] | None]
    """Steps in elements in which the value lay, where that was not row after row."""


class Tables(msgspec.Struct, kw_only=True):
    """The whole table file."""

    strings: list[str]
    shapes: Groups
    frames: list[tuple[Natural, Natural, Natural]]
    """File base name, line, function name."""
    stacks: Groups
    ops: OpColumns
    calls: CallColumns
    module_calls: ModuleCallColumns
    modules: ModuleColumns
    params: ParamColumns
    buffers: BufferColumns
    reads: ReadColumns
    gaps: GapColumns
    aten: AtenColumns | None
    """Operators below the recorded functions, where they were asked for."""
    scalars: dict[str, bool | int]
    """Flags and counts of `Records`, by name."""
    payloads: PayloadColumns
    layer: Numbers | None
    """Layer index of each op; None where it was not derived."""
    layer_pass: Numbers | None
    """1-based pass of each op within its layer."""
    info: dict[str, Template]
    """Facts about the run as a whole."""
    annotations: dict[str, Template]
    """Notes on the trace."""
