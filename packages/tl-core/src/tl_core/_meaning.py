"""What a text names in a trace, and how each of these things is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tl_core._near import near_misses
from tl_core._spelling import label_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_core._state import State

Kind = Literal["layer", "op", "module", "call", "param", "buffer"]
"""What can be looked up by name."""

AT_MOST = 5
"""Names that a message suggests."""


def meanings(state: State, text: str, besides: tuple[Kind, ...]) -> list[str]:
    """Everything that has this very name, as clauses of a message: `a module: trace.modules['fc']`.

    Args:
        state: of the trace.
        text: the name.
        besides: kinds to leave out, because they were looked through already.
    """
    return [f"{text!r} is {what}" for kind, what in _things(state, text) if kind not in besides]


def _things(state: State, text: str) -> Iterator[tuple[str, str]]:
    yield from _kinds(state, text)
    yield from _addressed(state, text)
    yield from _functions(state, text)
    yield from _classes(state, text)


LOOSE = ("a function", "the class")
"""How the meanings begin that a name may have beside the thing that was sought."""


def _kinds(state: State, text: str) -> Iterator[tuple[str, str]]:
    layer, op = state.labels.find_layer(text), state.labels.find_op(text)
    if layer is not None:
        size = state.grouping.size(layer)
        passes = f"'{text}:1'" if size == 1 else f"'{text}:1' to '{text}:{size}'"
        yield "layer", f"a layer: trace.layers[{text!r}], or one of its ops, {passes}"
    if op is not None:
        yield "op", f"an op: trace.ops[{text!r}]"
    if text in state.module_names():
        yield "module", f"a module: trace.modules[{text!r}]"
    if state.find_call(text) is not None:
        yield "call", f"a module call: trace[{text!r}]"
    if any(text in (param.address, *param.aliases) for param in state.records.params):
        yield "param", f"a parameter: trace.params[{text!r}]"
    if any(text in (buffer.address, *buffer.aliases) for buffer in state.records.buffers):
        yield "buffer", f"a buffer: trace.buffers[{text!r}]"


def _addressed(state: State, text: str) -> Iterator[tuple[str, str]]:
    for op in state.records.ops:
        if text and op.address == text and op.kind in ("input", "output", "constant"):
            label = state.labels.layer(state.grouping.layer_of[op.index])
            yield "address", f"the address of the {op.kind} trace.layers[{label!r}]"
            return


def _functions(state: State, text: str) -> Iterator[tuple[str, str]]:
    if any(text in (call.name, call.name.removesuffix("_"), label_type(call.name)) for call in state.records.calls):
        yield "function", f"a function: trace.find(tl.func({text!r}))"


def _classes(state: State, text: str) -> Iterator[tuple[str, str]]:
    addresses = [module.address for module in state.records.modules if module.class_name == text]
    if addresses:
        many = f"{len(addresses)} modules, such as" if len(addresses) > 1 else "the module"
        yield "class", f"the class of {many} trace.modules[{addresses[0]!r}]"


def closest(state: State, text: str, kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    """What a misspelt name may have meant, the likeliest first.

    Args:
        state: of the trace.
        text: the name.
        kinds: what was asked for; names of another kind are told with their accessor, and only where they are nearer.
    """
    own = {name for kind in kinds for name in _names(state, kind)}
    others: tuple[Kind, ...] = ("buffer", "param", "module", *(() if "op" in kinds else ("layer",)))
    spelled = {name: f"trace.{kind}s[{name!r}]" for kind in others for name in _names(state, kind)}
    spelled |= {name: name for name in own}
    near = near_misses(text, spelled, AT_MOST)
    first = next((at for at, name in enumerate(near) if name in own), None)
    return tuple([spelled[name] for at, name in enumerate(near) if name in own or first is None or at < first])


def _names(state: State, kind: Kind) -> list[str]:
    labels, layers = state.labels, range(state.grouping.count)
    match kind:
        case "layer":
            return [*labels.layers(), *[labels.short(layer) for layer in layers]]
        case "op":
            return labels.ops()
        case "module":
            return list(state.module_names())
        case "param":
            return [name for param in state.records.params for name in (param.address, *param.aliases)]
        case "buffer":
            return [name for buffer in state.records.buffers for name in (buffer.address, *buffer.aliases)]
        case "call":
            return []
