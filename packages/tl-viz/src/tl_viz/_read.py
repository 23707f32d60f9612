"""Reads a trace into the columns that pictures are made from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from tl_core import LookupFailedError
from tl_viz._apart import apart_of
from tl_viz._detail import detail_of
from tl_viz._measures import attribute, measure
from tl_viz._meets import meets_of
from tl_viz._network import Call, Network
from tl_viz._purpose import purposes_of
from tl_viz._roll import roll
from tl_viz._slot import slots_of
from tl_viz._stop import open_call, show_stop
from tl_viz._tell import indices_of, outputs_of
from tl_viz._turns import turns_of
from tl_viz._within import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core import ModuleCall, Op, Trace
    from tl_viz._options import Options

OWN_FIELDS = frozenset({"name", "shape", "params"})
"""Fields of a label that every node has without asking the op."""

COLLECTIVES = frozenset(
    [
        "all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
        "all_to_all_single", "broadcast", "reduce", "barrier", "send", "recv", "isend", "irecv",
    ]
)  # fmt: skip
"""Functions by which ranks talk to each other; always visible. `gather` and `scatter` are not among them: functions of one tensor
have these names too, and models have many."""


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

    def methods(self) -> list[str]:
        """The method that each of them ran; last that of the model."""
        ran = {call.label: call.method for module in self.trace.modules for call in module.calls}
        model = self.trace.modules[""].calls
        return [*[ran[f"{call.address}:{call.number}"] for call in self.found], model[0].method if model else "forward"]


def read(trace: Trace, options: Options) -> Network:
    """Return the columns of a trace as the options ask for them: rolled or not, with or without buffers."""
    every = list(trace.ops)
    unseen: dict[str, int] = {}
    ran = _drawn(every, options, unseen)
    rolled = options.view == "rolled"
    ops, parents, back = roll(ran) if rolled else _unrolled(ran)
    place = {op.layer_label if rolled else op.label: at for at, op in enumerate(ops)}
    calls = _Calls(trace)
    params, learned = _params(trace, ops)
    joins = meets_of(ran, place, views=options.collapse not in {"none", 0.0})
    marked = _marked(trace, ops, options)
    edited = frozenset(at for at, op in enumerate(ops) if op.is_edited)
    pinned = {at for at, op in enumerate(ops) if op.func_name in COLLECTIVES} | marked | edited
    network = Network(
        name=trace.model_class_name,
        labels=[op.layer_label if rolled or op.num_passes == 1 else op.label for op in ops],
        functions=[_function(op) for op in ops],
        parents=parents,
        module_of=[calls.index(op.modules) for op in ops],
        calls=calls.found,
        roles=[op.kind for op in ops],
        shapes=[op.shape for op in ops],
        params=params,
        learned=learned,
        rounds=[op.num_passes for op in ops] if rolled else [1] * len(ops),
        back=back,
        pinned=frozenset(pinned),
        islands=frozenset(_at(place, label) for label in _islands(ran)) if options.show_orphans else frozenset(),
        marked=frozenset(marked | edited),
        edited=edited,
        rows=_rows(ops, options),
        tips=[_tip(op) for op in ops],
        tints=measure(ops, options.color_by, "color_by") if options.color_by is not None else {},
        sizes=measure(ops, options.size_by, "size_by") if options.size_by is not None else {},
        unseen=unseen,
        unread=_unread(trace, every),
        owners=[op.label for op in ops],
        made_by=[op.func_call_id for op in ops],
        turns=turns_of(ran, place) if rolled else {},
        joins=joins,
        apart=apart_of(ran, joins, place, back.keys()),
        title=_title(trace),
    )
    network = _with_functions(_with_words(network, trace, every, ops, place), ops, calls)
    return (
        network
        if trace.outcome == "complete"
        else _with_stop(network, trace, calls, _at(place, ran[-1].label) if ran else -1)
    )


def _with_words(network: Network, trace: Trace, every: list[Op], ops: list[Op], place: dict[str, int]) -> Network:
    """Return the network with what single ops say; `every` op of the trace is known, and `ops` are drawn."""
    weights = {at: op.params for at, op in enumerate(ops) if network.learned[at]}
    network = replace(network, outputs=_outputs(every, ops))
    purposes = purposes_of(network)
    return replace(
        network,
        purposes=purposes,
        apart=network.apart.union(purposes),
        places={at: found for at, op in enumerate(ops) if (found := _place(op))},
        weights=weights,
        extents={name: trace.params[name].shape for read in weights.values() for name in read},
        slots=_slots(every, ops, place, network.back),
        indices=_indices(every, ops),
        details={at: text for at, op in enumerate(ops) if (text := detail_of(trace, op))},
    )


def _with_functions(network: Network, ops: list[Op], calls: _Calls) -> Network:
    """Return the network with the functions of the code that its ops and module calls ran in."""
    found, inner = within(ops, network.module_of, calls.found, calls.methods())
    if not inner:
        return replace(network, within=found)
    ran = [replace(call, within=inner.get(at, ())) for at, call in enumerate(calls.found)]
    return replace(network, within=found, calls=ran)


def _with_stop(network: Network, trace: Trace, calls: _Calls, last: int) -> Network:
    """Return the network with a node where the run ended; `last` is the op that ran last."""
    call = open_call(trace)
    home = -1 if call is None else calls.index(_path(trace, call))
    return show_stop(replace(network, calls=[*network.calls, *calls.found[len(network.calls) :]]), trace, last, home)


def _unrolled(ops: list[Op]) -> tuple[list[Op], list[tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Return every op, what each reads, and nothing that a round leaves to the next."""
    place = {op.label: at for at, op in enumerate(ops)}
    return ops, [tuple([place[name] for name in op.parents if name in place]) for op in ops], {}


def _drawn(ops: list[Op], options: Options, unseen: dict[str, int]) -> list[Op]:
    """Return the ops that are drawn at all; note in `unseen` how many are not."""
    if not options.show_buffers:
        kept = [op for op in ops if not (op.is_buffer or op.is_constant)]
        if len(kept) < len(ops):
            for why, number in (
                ("buffers", sum(op.is_buffer for op in ops)),
                ("constants", sum(op.is_constant for op in ops)),
            ):
                unseen |= {why: number} if number else {}
        ops = kept
    apart = _islands(ops)
    if apart and not options.show_orphans:
        unseen["connected to no input and no output"] = len(apart)
        ops = [op for op in ops if op.label not in apart]
    return ops


def _at(place: dict[str, int], label: str) -> int:
    """Return where an op, or in a rolled picture its layer, stands; -1 where it is not drawn."""
    return place.get(label, place.get(label.rpartition(":")[0], -1))


def _slots(
    every: list[Op], ops: list[Op], place: dict[str, int], back: dict[int, tuple[int, ...]]
) -> dict[int, dict[int, str]]:
    """Return which argument each parent is, for the ops where that matters; the second pass tells of what is carried.

    It matters also where two lines are one argument: before a loop, and from the round before.
    """
    found: dict[int, dict[int, str]] = {}
    by_label = {op.label: op for op in every}
    for at, op in enumerate(ops):
        texts = slots_of(op, every=at in back)
        again = by_label.get(f"{op.layer_label}:2") if op.pass_number == 1 else None
        if again is not None:
            texts = slots_of(again, every=at in back) | texts
        slots = {where: text for label, text in texts.items() if (where := _at(place, label)) >= 0}
        if len(slots) > 1:
            found[at] = slots
    return found


def _outputs(every: list[Op], ops: list[Op]) -> dict[int, str]:
    """Return which output of its call each op is, where there are several."""
    told = outputs_of(every)
    return {at: told[op.label] for at, op in enumerate(ops) if op.label in told}


def _indices(every: list[Op], ops: list[Op]) -> dict[int, str]:
    """Return which part the ops take that take one; the second pass tells what changes from round to round."""
    again = {op.layer_label: op for op in every if op.pass_number == 2}
    found = {
        at: indices_of(op, again.get(op.layer_label) if op.pass_number == 1 else None) for at, op in enumerate(ops)
    }
    return {at: text for at, text in found.items() if text}


def _title(trace: Trace) -> str:
    """Return the class of the model, with the name of the trace where somebody gave it one."""
    name, class_name = trace.name, trace.model_class_name
    given = name.rpartition("_")[0] != class_name.lower() and name != class_name
    return f"{class_name} · {name}" if name and given else class_name


def _place(op: Op) -> str:
    """Return where an input, an output, a buffer or a constant lives."""
    return op.io_role if op.is_output and op.address else op.address


def _path(trace: Trace, call: ModuleCall) -> tuple[str, ...]:
    """Return the labels of a module call and of those around it, outermost first."""
    by_label = {one.label: one for module in trace.modules for one in module.calls}
    path: list[str] = []
    found: ModuleCall | None = call
    while found is not None and found.address:
        path.append(found.label)
        found = by_label.get(found.parent or "")
    return tuple(reversed(path))


def _islands(ops: list[Op]) -> set[str]:
    """Return labels of ops from which neither an input nor an output can be reached along edges of either direction."""
    near: dict[str, list[str]] = {op.label: [] for op in ops}
    for op in ops:
        label = op.label
        for name in op.parents:
            if name in near:
                near[label].append(name)
                near[name].append(label)
    waiting = [op.label for op in ops if op.is_input or op.is_output]
    if not waiting:
        return set()
    reached = set(waiting)
    while waiting:
        for other in near[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return near.keys() - reached


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


def _unread(trace: Trace, every: list[Op]) -> int:
    """Return how many parameter elements no op reads."""
    read = {address for op in every for address in op.params}
    return sum(prod(param.shape) for param in trace.params if param.address not in read)


def _marked(trace: Trace, ops: list[Op], options: Options) -> set[int]:
    """Return the ops that are highlighted.

    Raises:
        LookupFailedError: the selector means no op, or none that is drawn.
    """
    if options.highlight is None:
        return set()
    rolled = options.view == "rolled"
    meant = trace.find(options.highlight)
    names = {op.layer_label if rolled else op.label for op in meant}
    found = {at for at, op in enumerate(ops) if (op.layer_label if rolled else op.label) in names}
    if not found:
        raise nothing_highlighted(options.highlight, [op.label for op in meant])
    return found


def nothing_highlighted(wish: object, meant: list[str]) -> LookupFailedError:
    """Return the error for a selector that outlines nothing; `meant` are the ops that it found but that are not drawn."""
    if meant:
        problem = f"draw(highlight={wish!r}) means {', '.join(meant[:3])}{' ...' if len(meant) > 3 else ''}, which is not drawn."
        remedy = "show_buffers=True or show_orphans=True draws more, and without module= the whole network is drawn"
    else:
        problem = f"draw(highlight={wish!r}) means no op of this trace, so nothing would be outlined."
        remedy = f"trace.find({wish!r}) is empty; print(trace.summary()) and trace.ops show what there is"
    return LookupFailedError(
        problem, code="highlight_not_drawn" if meant else "highlight_empty", remedy=remedy, highlight=wish, found=meant
    )


def _function(op: Op) -> str:
    """Return the name of a function without the underscores that mark an operator; `add_` keeps the one of in-place."""
    name = op.func_name
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else name


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
