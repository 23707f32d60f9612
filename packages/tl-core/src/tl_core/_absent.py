"""Attributes that are not there: what they are called here, or what was near."""

from __future__ import annotations

from tl_core._errors import FieldUnavailableError
from tl_core._near import near_misses

_VALUE = dict.fromkeys(("activation", "activations", "output", "value", "tensor", "data", "result"), "out")

_OF_AN_OP = _VALUE | {
    "args": "call.args",
    "code": "source.code()",
    "duration": "cost.duration",
    "file": "source.file",
    "flops": "cost.flops",
    "func": "func_name",
    "function": "func_name",
    "grad": "autograd",
    "grad_fn": "autograd.grad_fn",
    "inputs": "parents",
    "kwargs": "call.kwargs",
    "line": "source.line",
    "macs": "cost.macs",
    "name": "label",
    "outputs": "children",
    "saved": "payload.saved",
    "size": "shape",
}

_OF_A_TENSOR = dict.fromkeys(("data", "tensor", "out"), "value") | {
    "label": "address",
    "nbytes": "size_bytes",
    "num_params": "size",
    "numel": "size",
}

NAMES: dict[str, dict[str, str]] = {
    "op": _OF_AN_OP,
    "layer": _OF_AN_OP | {"passes": "ops"},
    "module": _VALUE | {"parameters": "params", "type": "class_name", "flops": "layers"},
    "param": _OF_A_TENSOR | {"trainable": "requires_grad", "layers": "ops"},
    "buffer": _OF_A_TENSOR,
    "call": _VALUE | {"name": "label", "pass_number": "call_number"},
    "list": {},
    "trace": {
        "activations": "ops",
        "duration": "cost.duration",
        "edges": "graph",
        "flops": "cost.flops",
        "input": "inputs",
        "label": "name",
        "layer": "layers",
        "macs": "cost.macs",
        "nodes": "ops",
        "num_ops": "summary()",
        "num_params": "cost.param_count",
        "out": "outputs[0].out",
        "output": "outputs",
        "parameters": "params",
        "plot": "draw()",
        "render": "draw()",
        "show": "draw()",
        "to_dataframe": "to_pandas()",
        "visualize": "draw()",
    },
}
"""What people call a fact elsewhere, and where it stands here."""


def absent(view: object, kind: str, name: str, lookup: str = "") -> AttributeError:
    """The refusal of an attribute that a view does not have.

    Args:
        view: what was asked.
        kind: what it is called in messages, a key of `NAMES`.
        name: the attribute.
        lookup: how the name is looked up, where it names something else.
    """
    known = [attribute for attribute in dir(type(view)) if not attribute.startswith("_")]
    if name.startswith("_") or name in known:  # Python's own probes; an attribute whose reading failed
        return AttributeError(f"{type(view).__name__!r} object has no attribute {name!r}", name=name, obj=view)
    here = NAMES[kind].get(name)
    close = near_misses(name, known, count=3)
    if lookup:
        remedy = lookup
    elif here is not None:
        remedy = f"{kind}.{here}"
    elif close:
        remedy = f"closest: {', '.join(f'{kind}.{one}' for one in close)}"
    else:
        remedy = f"dir({kind}) lists what there is"
    return FieldUnavailableError(
        f"{'An' if kind == 'op' else 'A'} {kind if kind != 'call' else 'module call'} has no attribute {name!r}.",
        code="attribute_missing",
        remedy=remedy,
        field=name,
    )
