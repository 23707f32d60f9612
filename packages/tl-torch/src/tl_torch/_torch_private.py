"""Every private name of torch that capture cannot do without, typed, with the probes that adapt to the release."""

from __future__ import annotations

import ctypes
import inspect
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast, final

import torch
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload
from torch._ops import OpOverloadPacket as OpOverloadPacket

if TYPE_CHECKING:
    from collections.abc import Callable

_C: Any = torch._C
_untyped: Any = torch.UntypedStorage
_dispatch: Any = cast("Any", torch.utils)._python_dispatch

lazy_clone: Any = cast("Any", torch)._lazy_clone
"""Copy-on-write clone: shares memory until either side is written. A quantized tensor loses its scale by it: `shared`."""


def snapshot(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that shares memory until either side is written, where that can be, and else a real one."""
    if not tensor.is_quantized:
        try:
            return lazy_clone(tensor)
        except (RuntimeError, NotImplementedError):  # memory that torch did not allocate, or no dense memory
            pass
    return tensor.clone()


current_functorch_level: Any = _C._functorch.maybe_current_level
"""Level of the innermost `torch.func` transform, or None outside any."""

is_functional_tensor: Any = cast("Any", torch)._is_functional_tensor

_ORDINARY = frozenset({torch.Tensor, torch.nn.Parameter})
_STRIDED = torch.strided


def is_ordinary(tensor: torch.Tensor) -> bool:
    """Whether a tensor is of torch's own class and surely holds dense values."""
    return (
        type(tensor) in _ORDINARY and tensor.layout is _STRIDED and not tensor.is_meta
        and not is_functional_tensor(tensor) and not tensor.is_nested
    )  # fmt: skip


storage_key: Callable[[torch.Tensor], int] = _C._storage_address
"""Identity of the memory that a tensor lies in, without touching the memory and without making an object for it."""


_storage_of: Any = torch.Tensor.untyped_storage


def pin_storage_key(tensor: torch.Tensor) -> int:
    """Keep the identity of the memory of `tensor` from being used again; the memory itself is not kept.

    Returns a token for `unpin_storage_key`.
    """
    return _storage_of(tensor)._weak_ref()


unpin_storage_key: Callable[[int], None] = _untyped._free_weak_ref
"""Give back a token of `pin_storage_key`."""


def storage_use_count(key: int) -> int:
    """Number of holders of a storage."""
    return _C._storage_Use_Count(key)


def _fresh_use_count() -> int:
    tensor = torch.empty(1)
    return storage_use_count(storage_key(tensor))


FRESH_USE_COUNT = _fresh_use_count()
"""What `storage_use_count` says while only one tensor holds the memory."""


def version_of(tensor: torch.Tensor) -> int:
    """In-place write counter of `tensor`; -1 where there is none (inference tensors)."""
    try:
        return tensor._version
    except RuntimeError:
        return -1


def parts_of(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The dense tensors that a sparse one consists of; nothing for any other tensor without memory of its own."""
    match tensor.layout:
        case torch.sparse_coo:
            return tensor._indices(), tensor._values()
        case torch.sparse_csr | torch.sparse_bsr:
            return tensor.crow_indices(), tensor.col_indices(), tensor.values()
        case torch.sparse_csc | torch.sparse_bsc:
            return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
        case _:
            return ()


def end_share(tensor: torch.Tensor) -> None:
    """End a copy-on-write share, so that the memory can be given another size, which newer releases do not survive."""
    try:
        tensor.data_ptr()
    except (NotImplementedError, RuntimeError, ValueError):  # no memory of the ordinary kind
        return


def forward_code(context: Any) -> CodeType | None:
    """Code of the forward of the `autograd.Function` whose context it is; None for one that is not Python."""
    forward = inspect.unwrap(cast("Any", type(context))._forward_cls.forward)
    return forward.__code__ if isinstance(forward, FunctionType) else None


def data_address(tensor: torch.Tensor) -> int:
    """Address of the first element, read without ending a copy-on-write share."""
    return _C._data_address(tensor) + tensor.storage_offset() * tensor.element_size()


def host_bytes(tensor: torch.Tensor) -> memoryview:
    """Bytes of a contiguous tensor in host memory, read without ending a copy-on-write share."""
    block: Any = (ctypes.c_char * tensor.nbytes).from_address(data_address(tensor))
    block.owner = tensor  # the view keeps the block alive, and the block the memory
    return memoryview(block).cast("B").toreadonly()


def function_modes_active() -> bool:
    """Whether a `TorchFunctionMode` is running."""
    return _C._len_torch_function_stack() > 0


torch_function_disabled: Any = _C.DisableTorchFunction
"""Context in which neither function modes nor tensor subclasses see what is called."""


torch_function_enabled: Any = _C._EnableTorchFunction
"""Context that undoes `torch_function_disabled` inside it."""


set_grad_enabled: Any = _C._set_grad_enabled
"""What `torch.no_grad` and its like call; it arrives like a function of tensors."""


def overloads_of(operator: OpOverload[..., Any] | OpOverloadPacket[..., Any]) -> list[Any]:
    """The overloads behind an operator."""
    if isinstance(operator, OpOverload):
        return [operator]
    return [getattr(operator, name) for name in operator.overloads()]


def operator_name(operator: Any) -> str:
    """Name of an operator with its namespace, and with its overload where that has a name: `aten::add.Tensor`."""
    return operator.name() if isinstance(operator, OpOverload) else operator._qualified_op_name


def written_arguments(overload: Any) -> dict[str, int | None]:
    """The arguments that an operator declares to write: name, and position where it can be given by position."""
    return {
        argument.name: None if argument.kwarg_only else position
        for position, argument in enumerate(overload._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    }


def is_mutable(overload: Any) -> bool:
    """Whether an operator declares that it writes an argument."""
    return overload._schema.is_mutable


_MODULE: Any = torch.nn.Module


def module_call_function() -> Callable[..., Any]:
    """What runs when a module is called."""
    return _MODULE._call_impl


def set_module_call_function(function: Callable[..., Any]) -> None:
    """Put `function` in the place of what runs when a module is called."""
    _MODULE._call_impl = function


def has_pre_hooks(module: torch.nn.Module) -> bool:
    """Whether the user registered hooks that see the arguments of a module first."""
    return bool(cast("Any", module)._forward_pre_hooks)


def own_children(module: torch.nn.Module) -> dict[str, torch.nn.Module | None]:
    """Modules registered directly on a module, shared ones included."""
    return module.__dict__["_modules"]


UninitializedTensorMixin: Any = cast("Any", torch.nn.parameter).UninitializedTensorMixin
"""Base of lazy parameters that have no shape yet."""


_overrides: Any = cast("Any", torch.overrides)
pop_function_mode: Callable[[], Any] = _C._pop_torch_function_stack
push_function_mode: Callable[[Any], None] = _C._push_on_torch_function_stack
function_mode_listens: Callable[[], bool] = _C._is_torch_function_mode_enabled
"""Whether there is a function mode that would see a call."""


@final
class WithoutFunctionMode:
    """Context in which the innermost function mode does not listen."""

    __slots__ = ("_mode",)

    def __enter__(self) -> Any:
        mode = self._mode = pop_function_mode()
        return mode

    def __exit__(self, *_: object) -> None:
        push_function_mode(self._mode)


def mode_caller() -> Callable[..., Any]:
    """What hands a call of a function of torch that is written in Python to whoever overrides it."""
    return _overrides.handle_torch_function


def innermost_dispatch_mode() -> Any | None:
    """The dispatch mode that is asked first, if one is running."""
    return _dispatch._get_current_dispatch_mode()


def without_dispatch_mode() -> Any:
    """Context in which the innermost dispatch mode does not listen."""
    return _dispatch._pop_mode_temporarily()


without_dispatch_modes: Any = _dispatch._disable_current_modes
"""Context in which no dispatch mode listens, those that make fake tensors included."""


def compiler_backend(backend: Any) -> Any:
    """The backend of the compiler that goes by a name."""
    return cast("Any", sys.modules["torch._dynamo"]).lookup_backend(backend)


def eval_frame_module() -> Any | None:
    """The module through whose `set_eval_frame` compiled functions hand themselves to the compiler, where loaded."""
    return sys.modules.get("torch._dynamo.eval_frame")


def function_mode_depth() -> int:
    """Number of function modes that are running."""
    return _C._len_torch_function_stack()


is_dead_transform_wrapper: Any = _C._functorch.is_functorch_wrapped_tensor
"""Whether a tensor is the inside view of a `torch.func` transform, running or ended."""


def schema_text(overload: Any) -> str:
    """Schema of an operator, as text."""
    return str(overload._schema)


def is_view_operator(overload: Any) -> bool:
    """Whether what an operator returns shows memory of an argument."""
    return bool(overload.is_view)


_nn_module: Any = torch.nn.modules.module
_of_all: dict[int, object] = _nn_module._global_forward_hooks
_before_all: dict[int, object] = _nn_module._global_forward_pre_hooks


def has_forward_hooks(module: torch.nn.Module) -> bool:
    """Whether a call of a module runs hooks around its forward, its own or those of all modules."""
    own = module.__dict__
    return bool(own["_forward_hooks"] or own["_forward_pre_hooks"] or _of_all or _before_all)


def forward_hooks_of(module: torch.nn.Module) -> list[Callable[..., Any]]:
    """Hooks of a module's forward, the user's and those of parallel styles."""
    hooked = cast("Any", module)
    return [*hooked._forward_pre_hooks.values(), *hooked._forward_hooks.values()]


SCRIPT_CALLERS: tuple[Any, ...] = (_C.ScriptFunction, _C.ScriptMethod)
"""Classes of what TorchScript makes callable."""


def script_callers() -> list[tuple[Any, str, Callable[..., Any]]]:
    """What runs when TorchScript functions and methods are called: class, name and function."""
    return [(owner, "__call__", vars(owner)["__call__"]) for owner in SCRIPT_CALLERS]


def backward_engine() -> tuple[Any, str, Callable[..., Any]]:
    """What runs when gradients are asked for, in whatever way: module, name and function."""
    owner: Any = cast("Any", torch).autograd
    name = "_engine_run_backward"
    run = cast("Callable[..., Any]", vars(owner)[name])
    return owner, name, run


_TRANSFORMS = (
    ("torch._functorch.apis", "vmap_impl", "vmap"),
    ("torch._functorch.eager_transforms", "grad_impl", "grad"),
    ("torch._functorch.eager_transforms", "grad_and_value_impl", "grad_and_value"),
    ("torch._functorch.eager_transforms", "_vjp_with_argnums", "vjp"),
    ("torch._functorch.eager_transforms", "_jvp_with_argnums", "jvp"),
)
"""Module, function and kind of the transforms of `torch.func` that the others are made of."""


def transforms_loaded() -> int:
    """How many functions `transform_functions` finds, where all of their modules' are there."""
    return 1 + 4 * ("torch._functorch.eager_transforms" in sys.modules)


def transform_functions() -> list[tuple[Any, str, Callable[..., Any], str]]:
    """Module, name, function and kind of the transforms that are loaded."""
    found: list[tuple[Any, str, Callable[..., Any], str]] = []
    for path, name, kind in _TRANSFORMS:
        module = sys.modules.get(path)
        function = None if module is None else vars(module).get(name)
        if function is not None:
            found.append((module, name, function, kind))
    return found


def overridable_functions() -> frozenset[Any]:
    """Functions of torch that hand themselves to function modes."""
    return frozenset(cast("Any", torch.overrides).get_testing_overrides())


BUILTINS: Any = _C._VariableFunctionsClass
"""Class whose methods are torch's builtin functions."""


def namespaces() -> list[tuple[str, Any]]:
    """Where torch's functions stand, by the name under which people know the place."""
    return [
        ("torch.Tensor", torch.Tensor),
        ("torch", torch),
        ("torch.nn.functional", torch.nn.functional),
        ("torch.linalg", torch.linalg),
        ("torch.fft", torch.fft),
        ("torch.special", torch.special),
        ("torch.functional", torch.functional),
        ("torch.nn.init", torch.nn.init),
        ("torch.autograd", torch.autograd),
        ("torch._C._nn", _C._nn),
        ("torch._C._VariableFunctions", _C._VariableFunctions),
        *([("torch.foreach", vars(torch)["foreach"])] if "foreach" in vars(torch) else []),
    ]


def tensor_operator(namespace: str, name: str, overload: str | None) -> Any | None:
    """An operator of torch that takes or gives tensors; None where there is none of that name."""
    try:
        packet = getattr(getattr(torch.ops, namespace), name)
        found = packet if overload is None else getattr(packet, overload)
        schemas = [each._schema for each in overloads_of(found)]
    except (AttributeError, RuntimeError):
        return None
    tensors = any("Tensor" in str(item.type) for schema in schemas for item in (*schema.arguments, *schema.returns))
    known = isinstance(found, (OpOverload, OpOverloadPacket))
    return cast("Any", found) if tensors and known else None


def quiet_names() -> frozenset[str]:
    """Names of those that do not, and have no need to."""
    ignored: Any = cast("Any", torch.overrides).get_ignored_functions()
    return frozenset(str(getattr(function, "__name__", "")) for function in ignored)


def node_name(tensor: torch.Tensor) -> str | None:
    """Class name of the autograd node that made a tensor."""
    try:
        node: object = tensor.grad_fn
    except RuntimeError:  # a view that was made without gradients, whose memory was written since
        return None
    return None if node is None else type(node).__name__


def copied_node_name(copy: torch.Tensor) -> str | None:
    """Class name of the autograd node that made the tensor of which `copy` is an attached copy."""
    node: Any = copy.grad_fn
    if node is None:
        return None
    above = node.next_functions[0][0]
    return None if above is None or above.name().endswith("AccumulateGrad") else type(above).__name__
