"""How functions, layers and module calls are spelled."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_core._record import ModuleCallRecord

BOUNDARY = frozenset({"input", "buffer", "constant", "output"})

ROOT = "self"
"""How the model itself is called where an empty address could not be read: its first call is `self:1`."""


def label_type(name: str) -> str:
    """Spelling of a function name in labels: lower case, no underscores."""
    return name.lower().replace("_", "")


@cache
def type_name(func_name: str) -> str:
    """Spelling of a function in labels: lower case, letters and digits only, never the name of a boundary."""
    name = label_type(func_name)
    if not name.isalnum():
        name = "".join(filter(str.isalnum, name)) or "op"
    return f"{name}op" if name in BOUNDARY else name


def call_label(call: ModuleCallRecord) -> str:
    """Label of a module call, such as `layer1.0:2`; `self:1` for the model itself."""
    return f"{call.module.address or ROOT}:{call.number}"


def module_stack(call: ModuleCallRecord | None) -> tuple[str, ...]:
    """Labels of the module calls around a place, outermost first; the model itself is left out."""
    stack: list[str] = []
    while call is not None:
        if call.module.address:
            stack.append(call_label(call))
        call = call.parent
    return tuple(reversed(stack))
