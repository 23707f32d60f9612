"""What capture knows about torch's functions: names, which only read metadata, which read values, which write."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, final

import torch
import torch.nn.functional as F

from tl_core import ITEMWISE_KEY
from tl_torch._structure import tensors_in
from tl_torch._torch_private import (
    BUILTINS,
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    operator_name,
    overloads_of,
    set_grad_enabled,
    written_arguments,
)

if TYPE_CHECKING:
    from tl_core import ReadKind

TensorT: Any = torch.Tensor

Role = Literal[
    "metadata", "read", "expose", "composite", "rebind", "resize", "higher_order", "itemwise", "apart", "call"
]
"""metadata: nothing to record; read: a value becomes Python; expose: memory becomes reachable from outside;
composite: a Python function of torch whose body is opened; rebind: `tensor.data`, which lazy parameters use to be made;
resize: it may give what it writes memory of another size; higher_order: it is given functions;
itemwise: it does the same to every item of lists;
apart: it needs a look of its own (`tensor.grad`, `copy.deepcopy`, dual numbers); call: everything else."""

WriteRule = Literal["none", "first", "declared", "moved"]
"""none: writes what it returns, if that existed before; first: writes its first argument; declared: writes what the
table or the schema says; moved: whatever argument's version moved was written. `out=` is written under every rule."""


Written = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]
"""From the arguments of a call, those that it writes."""


@final
class FunctionInfo:
    """Facts about one function, looked up on every call."""

    __slots__ = (
        "getter", "inplace_at", "kernel", "layout", "meta", "name", "overwrites", "read_kind", "role", "trusted", "undeclared", "write_rule",
    )  # fmt: skip

    def __init__(
        self, name: str, kernel: str, role: Role, write_rule: WriteRule = "none", read_kind: ReadKind | None = None
    ) -> None:
        self.name = name
        self.kernel = kernel
        self.role: Role = role
        self.write_rule: WriteRule = write_rule
        self.read_kind: ReadKind | None = read_kind
        self.overwrites = write_rule in {"first", "declared"} and name in OVERWRITERS
        """Whether the old value of the first argument has no influence on the new one."""
        self.trusted = True
        """Whether memory that first appears in its result was allocated by it."""
        self.getter = False
        """Whether it is the read of a property, which may return memory that existed before."""
        self.inplace_at: int | None = None
        """Position of a parameter called `inplace`, where there is one: then it says whether a call writes."""
        self.undeclared: Written | None = None
        """Under the rule `declared`: which of its arguments a call writes."""
        self.layout = name in LAYOUT_READERS
        """Whether its result depends on where in memory its first argument lies."""
        self.meta: Mapping[str, object] | None = {} if self.layout else None
        """Rare facts that every call of it carries."""

    def noted(self, args: Sequence[Any]) -> dict[str, object]:
        """Rare facts of one call."""
        facts = dict(self.meta or {})
        if self.layout and args and isinstance(args[0], torch.Tensor):
            facts[LAYOUT_KEY] = (args[0].storage_offset(), tuple(args[0].stride()))
        return facts


LAYOUT_KEY = "layout"
"""Key of `CallRecord.meta`: storage offset and strides of the first argument, in elements."""
LAYOUT_READERS = frozenset({"as_strided", "as_strided_copy", "as_strided_scatter"})
"""Functions that look at the memory of their first argument rather than at the tensor."""


OVERWRITERS = frozenset({
    "copy_", "zero_", "fill_", "normal_", "uniform_", "random_", "exponential_", "geometric_", "cauchy_",
    "log_normal_", "bernoulli_", "set_", "set_data", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
    "_foreach_copy_", "_foreach_zero_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_",
})  # fmt: skip
"""In-place functions whose result does not depend on what the tensor held before."""

_OPERATOR_NAMES = {
    "radd": "add", "rmul": "mul", "truediv": "div", "rtruediv": "rdiv", "floordiv": "floor_divide",
    "rfloordiv": "rfloor_divide", "mod": "remainder", "rmod": "rremainder", "matmul": "matmul", "rmatmul": "rmatmul",
    "invert": "bitwise_not", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "rand": "bitwise_and",
    "ror": "bitwise_or", "rxor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "idiv": "div_", "ifloordiv": "floor_divide_",
    "imod": "remainder_", "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
    "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_", "imatmul": "matmul_",
}  # fmt: skip
"""Python's operator methods under the names of the functions that they call."""

_METADATA_GETTERS = (
    "shape", "dtype", "device", "requires_grad", "is_leaf", "ndim", "layout", "grad_fn", "_version", "is_cuda",
    "is_cpu", "is_meta", "is_sparse", "is_sparse_csr", "is_quantized", "is_mps", "is_mkldnn", "is_nested", "is_xpu",
    "is_xla", "is_vulkan", "is_ipu", "is_maia", "is_mtia", "itemsize", "nbytes", "name", "names", "output_nr",
    "retains_grad", "_backward_hooks", "_base", "_cdata", "volatile", "is_inference_",
)  # fmt: skip
_METADATA_METHODS = (
    "size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset", "is_contiguous", "element_size",
    "is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg", "is_inference", "get_device", "is_same_size",
    "is_set_to", "is_coalesced", "is_pinned", "is_shared", "has_names", "dense_dim", "sparse_dim", "__len__",
    "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "requires_grad_", "backward", "__repr__",
    "__str__", "__format__", "__reduce_ex__", "__reduce__", "__setstate__", "__hash__", "__dir__", "_is_view",
    "is_nonzero_", "_is_all_true_", "dim_order", "__dlpack_device__", "_typed_storage_",
)  # fmt: skip
_METADATA_FUNCTIONS = (
    "is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg", "is_inference", "numel", "result_type",
    "can_cast", "promote_types", "is_same_size", "is_storage", "is_tensor", "get_device",
)  # fmt: skip
_READS: Mapping[str, ReadKind] = {
    "item": "item", "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex",
    "__index__": "index", "tolist": "list", "is_nonzero": "bool", "__contains__": "bool", "equal": "bool",
    "allclose": "bool",
}  # fmt: skip
_EXPOSURES: Mapping[str, ReadKind] = {
    "numpy": "numpy", "__array__": "numpy", "__dlpack__": "dlpack", "untyped_storage": "dlpack", "storage": "dlpack",
    "_typed_storage": "dlpack", "data_ptr": "dlpack",
}  # fmt: skip


_RESIZING = ("resize_", "resize_as_", "resize_as_sparse_", "set_", "addbmm_")
"""In-place methods that may give a tensor memory of another size."""


def _argument(args: Sequence[Any], kwargs: Mapping[str, Any], position: int, name: str) -> Any:
    return args[position] if len(args) > position else kwargs.get(name)


def _norm_statistics(training_at: int, mean_at: int, training: str = "training") -> Written:
    def written(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        if not _argument(args, kwargs, training_at, training):
            return ()
        return (
            _argument(args, kwargs, mean_at, "running_mean"),
            _argument(args, kwargs, mean_at + 1, "running_var"),
        )

    return written


def _renormalised(weight_at: int, norm_at: int) -> Written:
    def written(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        if _argument(args, kwargs, norm_at, "max_norm") is None:
            return ()
        return (_argument(args, kwargs, weight_at, "weight"),)

    return written


def _given_statistics(mean_at: int) -> Written:
    def written(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        return (
            _argument(args, kwargs, mean_at, "running_mean"),
            _argument(args, kwargs, mean_at + 1, "running_var"),
        )

    return written


UNDECLARED_WRITERS: dict[Callable[..., Any], Written] = {
    F.batch_norm: _norm_statistics(5, 1),
    torch.batch_norm: _norm_statistics(5, 3),
    F.instance_norm: _norm_statistics(5, 1, "use_input_stats"),
    torch.instance_norm: _norm_statistics(5, 3, "use_input_stats"),
    torch.native_batch_norm: _norm_statistics(5, 3),
    BUILTINS.cudnn_batch_norm: _norm_statistics(5, 3),
    BUILTINS.miopen_batch_norm: _norm_statistics(5, 3),
    vars(torch)["_batch_norm_impl_index"]: _norm_statistics(5, 3),
    BUILTINS.batch_norm_update_stats: _given_statistics(1),
    BUILTINS.batch_norm_gather_stats: _given_statistics(3),
    BUILTINS.batch_norm_gather_stats_with_counts: _given_statistics(3),
    F.embedding: _renormalised(1, 3),
    F.embedding_bag: _renormalised(1, 3),
}
"""Functions that write arguments without saying so in their name or schema, and which arguments a call writes."""

_UNDECLARED_OPERATORS = {
    function.__name__: written
    for function, written in UNDECLARED_WRITERS.items()
    if not isinstance(function, types.FunctionType)
}
"""The same by the name of the operator, as `torch.ops.aten` and exported programs call it."""

ATOMIC = frozenset({
    F.relu, F.batch_norm, F.layer_norm, F.embedding, F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout,
    F.feature_alpha_dropout, F.softmax, F.log_softmax, F.silu, F.leaky_relu, F.elu, F.celu, F.selu, F.hardtanh, F.relu6,
    F.mish, F.hardswish, F.hardsigmoid, F.rrelu, F.glu, F.threshold, F.group_norm, F.instance_norm, F.pad,
    F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.max_pool1d, F.max_pool2d, F.max_pool3d,
    F.nll_loss, F.kl_div, F.binary_cross_entropy, F.binary_cross_entropy_with_logits,
    F.cross_entropy, F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.bilinear, F.rms_norm,
    F.grid_sample, F.affine_grid, F.interpolate, F.fold, F.unfold, F.embedding_bag,
    torch.functional.split, torch.functional.einsum, TensorT.split, TensorT.__rsub__,
})  # fmt: skip
"""Python functions of torch that boil down to one builtin: recorded as one call without being opened."""

_COMPOSITE_MODULES = frozenset({"torch.nn.functional", "torch.functional", "torch._tensor"})
_NEVER_OPENED = frozenset({
    "backward", "register_hook", "__deepcopy__", "__reduce_ex__", "__setstate__", "__repr__", "__format__", "__dir__",
    "__array__", "__dlpack__", "storage", "share_memory_", "detach", "detach_", "__len__", "__iter__", "__contains__",
})  # fmt: skip


def public_name(function: Callable[..., Any]) -> str:
    """The name under which people know `function`."""
    name = str(getattr(function, "__name__", type(function).__name__)).split(".")[0]
    if name in {"__get__", "__set__"}:
        name = str(getattr(getattr(function, "__self__", None), "__name__", name))
        return f"set_{name}" if function.__name__ == "__set__" else name
    if name.startswith("__") and name.endswith("__"):
        name = name.strip("_")
        return _OPERATOR_NAMES.get(name, name)
    return "threshold" if name == "_threshold" else name


def _is_inplace(name: str, function: Callable[..., Any]) -> bool:
    return name.endswith("_") or name in {"setitem", "set_data"} or function is TensorT.__setitem__


def _opens(function: Callable[..., Any]) -> bool:
    return (
        isinstance(function, types.FunctionType)
        and function not in ATOMIC
        and function.__module__ in _COMPOSITE_MODULES
        and function.__name__ not in _NEVER_OPENED
    )


def _schema_writes(operator: Any) -> Written | None:
    """What an operator writes by its schema, or None for one that only writes `out=` arguments, if any."""
    places: dict[str, int | None] = {}
    for overload in overloads_of(operator):
        places.update(written_arguments(overload))
    places.pop("out", None)
    if not places:
        return None

    def written(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        given = [
            args[place] if place is not None and place < len(args) else kwargs.get(name)
            for name, place in places.items()
        ]
        return [tensor for _, tensor in tensors_in(given)]

    return written


def _both(declared: Written | None, undeclared: Written) -> Written:
    if declared is None:
        return undeclared
    return lambda args, kwargs: [*declared(args, kwargs), *undeclared(args, kwargs)]


_WRITERS = frozenset({
    "fused_moving_avg_obs_fake_quant", "_native_batch_norm_legit", "rrelu_with_noise", "_cummax_helper", "_cummin_helper",
})  # fmt: skip
"""Builtins that write arguments other than `out=` and whose names do not tell."""


def _builtin_operator(kernel: str) -> Any | None:
    """The operator behind a builtin whose name does not say what it writes."""
    if kernel not in _WRITERS and not kernel.startswith(("_foreach_", "_fused_", "_amp_")):
        return None
    return getattr(torch.ops.aten, kernel, None)  # the name is torch's own, and not every release has it


def describe(function: Callable[..., Any]) -> FunctionInfo:
    """Work out the facts about a function that the table does not hold yet."""
    name = public_name(function)
    kernel = str(getattr(function, "__name__", name))
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        writes = _schema_writes(function)
        rule: WriteRule = "none" if writes is None else "declared"
        info = FunctionInfo(name, operator_name(function), "call" if writes is None else "resize", rule)
        info.trusted = function.__module__.endswith((".aten", ".prims"))
        if info.trusted and name in _UNDECLARED_OPERATORS:
            writes = _both(writes, _UNDECLARED_OPERATORS[name])
            info.write_rule = "declared"
        info.undeclared = writes
        return info
    if isinstance(function, HigherOrderOperator):
        return FunctionInfo(name, f"higher_order::{name}", "higher_order")
    if kernel == "__get__":
        roles: dict[str, Role] = {"data": "rebind", "grad": "apart"}  # lazy parameters read `data` to be made
        info = FunctionInfo(name, name, roles.get(name, "call"))
        info.trusted = False
        info.getter = True
        return info
    if function is torch.autograd.grad:
        info = FunctionInfo("autograd_grad", "torch.autograd.grad", "call")
        info.meta = {"transform_kind": "autograd.grad"}
        return info
    if _opens(function):
        return FunctionInfo(name, kernel, "composite", "first" if _is_inplace(name, function) else "none")
    if function in UNDECLARED_WRITERS:
        info = FunctionInfo(name, kernel, "call", "declared")
        info.undeclared = UNDECLARED_WRITERS[function]
        return info
    operator = _builtin_operator(kernel)
    if operator is not None:
        writes = _schema_writes(operator)
        itemwise = kernel.startswith("_foreach_")
        info = FunctionInfo(name, kernel, "itemwise" if itemwise else "call", "none" if writes is None else "declared")
        info.undeclared = writes
        info.meta = {ITEMWISE_KEY: True} if itemwise else None
        return info
    info = FunctionInfo(name, kernel, "call", "first" if _is_inplace(name, function) else "none")
    if isinstance(function, types.FunctionType):
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        info.inplace_at = parameters.index("inplace") if "inplace" in parameters else None
    info.trusted = str(getattr(function, "__module__", None) or "torch").startswith("torch")
    return info


def _build_table() -> dict[Callable[..., Any], FunctionInfo]:
    table: dict[Callable[..., Any], FunctionInfo] = {}

    def add(owner: Any, names: Sequence[str] | Mapping[str, ReadKind], role: Role, *, getter: bool = False) -> None:
        for name in names:
            attribute = getattr(owner, name, None)
            if attribute is None:
                continue
            function = attribute.__get__ if getter else attribute
            kind = names[name] if isinstance(names, Mapping) else None
            table[function] = FunctionInfo(public_name(function), name, role, read_kind=kind)

    add(torch.Tensor, _METADATA_GETTERS, "metadata", getter=True)
    add(torch.Tensor, _METADATA_METHODS, "metadata")
    add(torch, _METADATA_FUNCTIONS, "metadata")
    add(torch.autograd, ("backward",), "metadata")  # the pass itself is seen where it runs
    add(torch.Tensor, ("__deepcopy__",), "apart")
    add(torch, ("_make_dual",), "apart")
    for name in _RESIZING:
        table[getattr(torch.Tensor, name)] = FunctionInfo(name, name, "resize", "first")
    table[set_grad_enabled] = FunctionInfo("set_grad_enabled", "_set_grad_enabled", "metadata")
    add(torch.Tensor, _READS, "read")
    add(torch, ("is_nonzero", "equal", "allclose"), "metadata")
    add(torch, {"is_nonzero": "bool", "equal": "bool", "allclose": "bool"}, "read")
    add(torch.Tensor, _EXPOSURES, "expose")
    table[TensorT.data.__set__] = FunctionInfo("set_data", "set_data", "rebind", "first")
    for setter in ("grad", "requires_grad"):
        function = getattr(torch.Tensor, setter).__set__
        table[function] = FunctionInfo(public_name(function), setter, "metadata")
    return table


FUNCTION_TABLE = _build_table()
"""What is known so far; a run works on a copy, so that later additions cannot change it."""


def info_of(function: Callable[..., Any]) -> FunctionInfo:
    """Facts about a function, kept for the next run where it is one of torch's own."""
    info = describe(function)
    if isinstance(function, _OWN_KINDS) and str(getattr(function, "__module__", None) or "torch").startswith("torch"):
        FUNCTION_TABLE[function] = info
    return info


_OWN_KINDS = (types.BuiltinFunctionType, types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
"""Kinds of functions that live as long as torch does, where torch defines them."""
