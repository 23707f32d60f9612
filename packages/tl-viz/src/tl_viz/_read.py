"""Reads a trace into the columns that pictures are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tl_viz._measures import attribute, measure
from tl_viz._network import Call, Network, OpRole
from tl_viz._roll import roll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core import Op, Trace
    from tl_viz._options import Options

OWN_FIELDS = frozenset({"name", "shape", "params"})
"""Fields of a label that every node has without asking the op."""

COLLECTIVES = frozenset(
    [
        "all_reduce",
        "all_gather",
        "all_gather_into_tensor",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "all_to_all",
        "all_to_all_single",
        "broadcast",
        "reduce",
        "gather",
        "scatter",
        "barrier",
        "send",
        "recv",
        "isend",
        "irecv",
    ]
)
"""Functions by which ranks talk to each other; always visible."""


@dataclass(slots=True)
class _Calls:
    """Module calls met so far."""

    trace: Trace
    found: list[Call] = field(default_factory=list[Call])
    by_path: dict[tuple[str, ...], int] = field(default_factory=lambda: {(): -1})

    def index(self, path: tuple[str, ...]) -> int:
        known = self.by_path.get(path)
        if known is not None:
            return known
        parent = self.index(path[:-1])
        address, _, number = path[-1].rpartition(":")
        call = Call(
            address=address,
            number=int(number),
            class_name=self.trace.modules[address].class_name,
            parent=parent,
        )
        self.found.append(call)
        self.by_path[path] = len(self.found) - 1
        return len(self.found) - 1


def read(trace: Trace, options: Options) -> Network:
    """Return the columns of a trace as the options ask for them: rolled or not, with or without buffers."""
    ops = list(trace.ops)
    unseen: dict[str, int] = {}
    if not options.show_buffers:
        kept = [op for op in ops if not (op.is_buffer or op.is_constant)]
        if len(kept) < len(ops):
            unseen["buffers and constants"] = len(ops) - len(kept)
        ops = kept
    if not options.show_orphans:
        ops = _without_islands(ops, unseen)
    back: dict[int, tuple[int, ...]] = {}
    if options.view == "rolled":
        ops, parents, back = roll(ops)
        rounds: Sequence[int] = [op.num_passes for op in ops]
        labels = [op.layer_label for op in ops]
    else:
        place = {op.label: at for at, op in enumerate(ops)}
        parents = [tuple([place[name] for name in op.parents if name in place]) for op in ops]
        rounds = [1] * len(ops)
        labels = [op.label if op.num_passes > 1 else op.layer_label for op in ops]
    calls = _Calls(trace)
    module_of = [calls.index(op.modules) for op in ops]
    params, learned = _params(trace, ops)
    marked = _marked(trace, ops, options)
    edited = frozenset(at for at, op in enumerate(ops) if op.is_edited)
    pinned = {at for at, op in enumerate(ops) if op.func_name in COLLECTIVES} | marked | edited
    return Network(
        name=trace.model_class_name,
        labels=labels,
        functions=[_function(op) for op in ops],
        parents=parents,
        module_of=module_of,
        calls=calls.found,
        roles=[_role(op) for op in ops],
        shapes=[op.shape for op in ops],
        params=params,
        learned=learned,
        rounds=rounds,
        back=back,
        pinned=frozenset(pinned),
        marked=frozenset(marked | edited),
        edited=edited,
        rows=_rows(ops, options),
        links=(),
        tips=[_tip(op) for op in ops],
        tints=measure(ops, options.color_by, "color_by") if options.color_by is not None else {},
        sizes=measure(ops, options.size_by, "size_by") if options.size_by is not None else {},
        unseen=unseen,
        owners=[op.label for op in ops],
    )


def _without_islands(ops: list[Op], unseen: dict[str, int]) -> list[Op]:
    """Drop ops from which neither an input nor an output can be reached along edges of either direction."""
    place = {op.label: at for at, op in enumerate(ops)}
    near: list[list[int]] = [[] for _ in ops]
    for at, op in enumerate(ops):
        for name in op.parents:
            if name in place:
                near[at].append(place[name])
                near[place[name]].append(at)
    waiting = [at for at, op in enumerate(ops) if op.is_input or op.is_output]
    if not waiting:
        return ops
    reached = set(waiting)
    while waiting:
        for other in near[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    if len(reached) < len(ops):
        unseen["connected to no input and no output"] = len(ops) - len(reached)
    return [op for at, op in enumerate(ops) if at in reached]


def _params(trace: Trace, ops: list[Op]) -> tuple[list[int], list[bool]]:
    """Return how many parameter elements each op reads that no op before it has read, and whether it reads any."""
    size = {param.address: prod(param.shape) for param in trace.params}
    seen: set[str] = set()
    counts: list[int] = []
    learned: list[bool] = []
    for op in ops:
        addresses = op.params
        fresh = [address for address in addresses if address not in seen]
        seen.update(fresh)
        counts.append(sum(size[address] for address in fresh))
        learned.append(bool(addresses))
    return counts, learned


def _marked(trace: Trace, ops: list[Op], options: Options) -> set[int]:
    if options.highlight is None:
        return set()
    names = {op.layer_label if options.view == "rolled" else op.label for op in trace.find(options.highlight)}
    return {at for at, op in enumerate(ops) if (op.layer_label if options.view == "rolled" else op.label) in names}


def _function(op: Op) -> str:
    """Return the name of a function without the underscores that mark an operator; `add_` keeps the one of in-place."""
    name = op.func_name
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else name


def _role(op: Op) -> OpRole:
    return op.kind


def _rows(ops: list[Op], options: Options) -> Sequence[tuple[str, ...]]:
    fields = [name for name in options.label if name not in OWN_FIELDS]
    if not fields:
        return ()
    return [tuple([f"{name}: {attribute(op, name, 'label')}" for name in fields]) for op in ops]


def _tip(op: Op) -> str:
    source = op.source
    parts = [op.dtype, op.device]
    if source is not None:
        parts.append(f"{source.file}:{source.line}")
    return " · ".join(parts)
