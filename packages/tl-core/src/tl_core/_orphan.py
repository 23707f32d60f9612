"""Ops that are connected to nothing: found and dropped once, before anything is numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_core._record import OpRecord, Records


def connected(records: Records) -> bytearray:
    """Which ops stay: 1 for those that lead to something the run was for, 0 for orphans.

    Kept are outputs, everything that descends from an input, every op whose value Python read, and all ancestors of
    these, so that the parents of a kept op are kept. A run without inputs and outputs has no orphans.
    """
    ops = records.ops
    keep = bytearray(len(ops))
    anchored = False
    for index, op in enumerate(ops):
        kind = op.kind
        if kind == "input" or kind == "output":
            keep[index] = anchored = True
        else:
            for parent in op.parents:
                if keep[parent]:
                    keep[index] = True
                    break
    if not anchored:
        return bytearray(b"\x01") * len(ops)
    for read in records.reads:
        if read.op >= 0:
            keep[read.op] = True
    if 0 in keep:
        for index in range(len(ops) - 1, -1, -1):
            if keep[index]:
                for parent in ops[index].parents:
                    keep[parent] = True
    return keep


def drop_orphans(records: Records) -> int:
    """Take orphans out of `records` and number the rest anew.

    Returns:
        How many were dropped. The calls that made them stay, so the numbers of calls do not shift.
    """
    keep = connected(records)
    if 0 not in keep:
        return 0
    before: list[int] = []
    """How many ops before each one stay: its new index, if it stays itself."""
    kept: list[OpRecord] = []
    for op in records.ops:
        before.append(len(kept))
        if keep[op.index]:
            kept.append(op)
    before.append(len(kept))
    for op in records.ops:
        op.parents = tuple([before[parent] for parent in op.parents]) if keep[op.index] else ()
    for index, op in enumerate(records.ops):
        op.index = before[index] if keep[index] else -1
    dropped = len(records.ops) - len(kept)
    records.ops[:] = kept
    _renumber(records, keep, before)
    return dropped


def _renumber(records: Records, keep: bytearray, before: list[int]) -> None:
    for call in records.module_calls:
        call.first_op = before[call.first_op]
        call.stop_op = before[call.stop_op]
        call.inputs = tuple([before[index] for index in call.inputs if keep[index]])
        call.outputs = tuple([before[index] for index in call.outputs if keep[index]])
    for read in records.reads:
        read.op = before[read.op] if read.op >= 0 else -1
        read.op_count = before[read.op_count]
    for gap in records.gaps:
        gap.op = before[gap.op] if gap.op >= 0 and keep[gap.op] else -1
