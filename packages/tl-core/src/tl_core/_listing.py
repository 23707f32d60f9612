"""The layers of a trace as lines, in the order in which they were first computed; equal blocks are folded into one."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, final

from tl_core._cost import plain_dtype
from tl_core._facts import Facts
from tl_core._outline import Item, Run, block_facts, folds
from tl_core._tree import Work, shape_text, works

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._backend import OpCost
    from tl_core._record import ModuleCallRecord, OpRecord
    from tl_core._state import State
    from tl_core._tree import ModuleNode

BOUNDARY_ROWS = 6
"""Most inputs or outputs that are listed; of longer lists the first half is."""

UNLISTED = frozenset({"buffer", "constant"})
"""Sources that are counted below the table instead of listed."""


@final
class Listing:
    """The lines of a trace's layers; `items` holds them, `unlisted` how many sources are none of them."""

    __slots__ = ("_blocks", "_fold_of", "_known", "_state", "_used", "_work", "items", "unlisted")

    def __init__(self, state: State, costs: Sequence[OpCost | None] | None, root: ModuleNode | None) -> None:
        self._state = state
        self._work = _layer_work(state, costs)
        self._blocks = [] if root is None else [Run(nodes) for _, nodes in folds(root)]
        self._fold_of = {node.record.index: at for at, block in enumerate(self._blocks) for node in block.nodes}
        self._known: dict[int, int] = {}
        self._used: set[int] = set()
        self.unlisted: dict[str, int] = {}
        self.items: list[Item] = []
        self._fill()

    def _fill(self) -> None:
        shown: set[int] = set()
        ops = self._state.records.ops
        rest = {kind: sum(op.kind == kind for op in ops) for kind in ("input", "output")}
        hidden = {
            kind: max(0, count - BOUNDARY_ROWS // 2) if count > BOUNDARY_ROWS else 0 for kind, count in rest.items()
        }
        for layer, index in enumerate(self._state.grouping.first_ops()):
            op = ops[index]
            block = self._block(op.module)
            if op.kind in UNLISTED:
                self.unlisted[op.kind] = self.unlisted.get(op.kind, 0) + 1
            elif op.kind in rest:
                left = rest[op.kind] = rest[op.kind] - 1
                if left >= hidden[op.kind]:
                    self.items.append(self._layer_item(layer, op))
                elif left == hidden[op.kind] - 1:
                    self.items.append(_boundary_rest(op.kind, hidden[op.kind]))
            elif block < 0:
                self.items.append(self._layer_item(layer, op))
            elif block not in shown:
                shown.add(block)
                self.items.append(_block_item(self._blocks[block]))

    def _block(self, call: ModuleCallRecord | None) -> int:
        """The folded run of blocks in which a module call lies, the outermost one; -1 for none."""
        if call is None or not self._fold_of:
            return -1
        found = self._known.get(call.index)
        if found is None:
            found = self._block(call.parent)
            if found < 0:
                found = self._fold_of.get(call.module.index, -1)
            self._known[call.index] = found
        return found

    def _layer_item(self, layer: int, op: OpRecord) -> Item:
        passes = self._state.grouping.size(layer)
        params, tied, trainable = self._params(op)
        module = "" if op.module is None else op.module.module.address
        facts = Facts(
            output=shape_text(op.shape),
            dtype=plain_dtype(op.dtype),
            calls=passes,
            params=params,
            tied=tied,
            trainable=trainable,
            work=self._work.get(layer, Work()),
            module=module if op.kind == "op" else op.address,
        )
        remark = f"{passes:,} passes" if passes > 1 else ""
        return Item(kind="module", tree="", name=self._state.labels.layer(layer), type="", remark=remark, facts=facts)

    def _params(self, op: OpRecord) -> tuple[int, int, int]:
        """Sizes of the parameters that an op reads: first read here, read before, and trainable of the former."""
        new = tied = trainable = 0
        for index in op.params:
            param = self._state.records.params[index]
            size = prod(param.shape)
            if index in self._used:
                tied += size
                continue
            self._used.add(index)
            new += size
            trainable += size if param.requires_grad else 0
        return new, tied, trainable


def _layer_work(state: State, costs: Sequence[OpCost | None] | None) -> dict[int, Work]:
    layer_of = state.grouping.layer_of
    found: dict[int, Work] = {}
    for op, work in works(state.records, costs):
        layer = layer_of[op.index]
        known = found.get(layer)
        if known is None:
            found[layer] = work
        else:
            known.add(work)
    return found


def _block_item(block: Run) -> Item:
    first = block.nodes[0]
    count = len(block.nodes)
    prefix = first.record.address.rpartition(".")[0]
    name = f"{prefix}.{block.name}" if prefix else block.name
    typed = first.record.class_name if count == 1 else f"{first.record.class_name} x{count}"
    facts = replace(block_facts(block.nodes), module=f"{name} ({typed})")
    return Item(kind="fold", tree="", name=f"... {facts.work.ops:,} ops", type="", remark="", facts=facts)


def _boundary_rest(kind: str, count: int) -> Item:
    facts = Facts(output="", dtype="", calls=0, params=0, tied=0, trainable=0, work=Work())
    return Item(kind="note", tree="", name=f"... {count:,} more {kind}s", type="", remark="", facts=facts)
