"""Names of torch's functions as a bundle holds them, and the way back.

A name leads back only to a function that computes tensors from tensors: it is looked up in a table of such functions,
never imported and never followed attribute by attribute. Whatever else a bundle names stays a name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import torch

from tl_torch._function_table import FUNCTION_TABLE, describe
from tl_torch._torch_private import (
    BUILTINS,
    OpOverload,
    OpOverloadPacket,
    namespaces,
    overridable_functions,
    tensor_operator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tl_core import FrameworkValue

_FACTORIES = (
    "tensor", "as_tensor", "asarray", "arange", "empty", "empty_permuted", "empty_strided", "eye", "full", "linspace",
    "logspace", "ones", "rand", "randint", "randn", "randperm", "range", "scalar_tensor", "tril_indices",
    "triu_indices", "zeros", "hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window",
)  # fmt: skip
"""Functions without a tensor among their arguments, which torch therefore does not list as overridable."""
_REFUSED = frozenset({
    "apply_", "map_", "map2_", "share_memory_", "module_load", "from_file", "reinforce", "pin_memory", "record_stream",
    "__deepcopy__", "as_subclass", "from_numpy", "frombuffer", "__cuda_array_interface__",
})  # fmt: skip
_ASSIGNED = frozenset({"torch.Tensor.data", "torch.Tensor.real", "torch.Tensor.imag"})
"""Properties whose assignment is an operation."""
_BUILTIN_PLACES = frozenset({"torch", "torch.Tensor", "torch._C._VariableFunctions"})
_ROLES = frozenset({"call", "itemwise", "composite", "rebind", "resize"})
_OPERATOR = re.compile(r"torch\.ops\.(aten|prims)\.([A-Za-z_]\w*)(?:\.(\w+))?")
_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
_KINDS: dict[str, type] = {
    "dtype": torch.dtype, "memory_format": torch.memory_format, "layout": torch.layout,
}  # fmt: skip


def identity_of(function: Callable[..., Any]) -> str | None:
    """The name under which `function_of` finds a function again; None for one that has none.

    Operators have names; those that are not torch's own are found by none.
    """
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{function}"
    try:
        return _tables()[1].get(function)
    except TypeError:  # something that is no key, such as an object that is called
        return None


def function_of(identity: str) -> Callable[..., Any] | None:
    """The function that a name stands for; None where it is none that only computes."""
    operator = _OPERATOR.fullmatch(identity)
    if operator is not None:
        found = tensor_operator(*operator.groups())
        name = operator.group(2)
        return None if name in _REFUSED or "unsafe" in name else found
    return _tables()[0].get(identity)


def revived(value: FrameworkValue) -> object:
    """A dtype, device, memory format or layout from its name, or a number type; the value itself where there is none."""
    if value.kind == "device":
        available = value.name.partition(":")[0] != "cuda" or torch.cuda.is_available()
        return torch.device(value.name if available else "cpu")  # where its tensors lie then
    if value.kind == "type":
        return _TYPES.get(value.name, value)
    found = vars(torch).get(value.name)
    return found if isinstance(found, _KINDS[value.kind]) else value


@cache
def _tables() -> tuple[dict[str, Callable[..., Any]], dict[Callable[..., Any], str]]:
    """Functions by name, and the first name of each."""
    functions: dict[str, Callable[..., Any]] = {}
    names: dict[Callable[..., Any], str] = {}
    known = overridable_functions()
    for prefix, owner in namespaces():
        for name in dir(owner):
            for identity, function in _candidates(f"{prefix}.{name}", getattr(owner, name, None)):
                if _computes(identity, name, function, known, prefix):
                    functions[identity] = function
                    names.setdefault(function, identity)
    return functions, names


def _candidates(identity: str, found: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A function under its name, or the reading and writing of a property under theirs."""
    if isinstance(found, type):
        return
    if callable(found):
        yield identity, found
        return
    kind = cast("type[Any]", type(found))
    if kind.__name__ in {"getset_descriptor", "property"}:
        yield f"{identity}.__get__", found.__get__
        if identity in _ASSIGNED:
            yield f"{identity}.__set__", found.__set__


def _computes(identity: str, name: str, function: Callable[..., Any], known: frozenset[Any], prefix: str) -> bool:
    """Whether a function of torch computes tensors and does nothing else."""
    if name in _REFUSED or not (_is_listed(function, known) or _is_computing_place(identity, name, function, prefix)):
        return False
    info = FUNCTION_TABLE.get(function) or describe(function)
    return info.role in _ROLES


def _is_listed(function: Callable[..., Any], known: frozenset[Any]) -> bool:
    try:
        return function in known or function is torch.autograd.grad
    except TypeError:  # something that cannot be compared by a key
        return False


def _is_computing_place(identity: str, name: str, function: Callable[..., Any], prefix: str) -> bool:
    """Whether a function stands where functions only compute, though torch does not list it as overridable."""
    public = not name.startswith("_")
    if prefix in _BUILTIN_PLACES and name in vars(BUILTINS):
        return public or "unsafe" not in name
    match prefix:
        case "torch":
            return name in _FACTORIES or name.startswith("_foreach_")
        case "torch.Tensor":
            return public or identity.removesuffix(".__set__") in _ASSIGNED
        case "torch.nn.init":
            return public and name.endswith("_")
        case "torch.nn.functional" | "torch.functional":
            return public and str(getattr(function, "__module__", "")) == prefix  # builtins need not have one
        case _:
            return False
