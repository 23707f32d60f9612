"""A picture of everything in torch that a capture could leave changed."""

from __future__ import annotations

import types
from dataclasses import dataclass

import torch
import torch.utils.checkpoint
from torch.nn.modules import module as module_globals

OWNERS = (
    torch,
    torch.Tensor,
    torch._C,
    torch.nn.functional,
    torch.functional,
    torch._tensor,
    torch.nn.Module,
    torch.nn.Sequential,
    torch.nn.Parameter,
    torch.autograd,
    torch.autograd.Function,
    torch.overrides,
    torch.autograd.function.FunctionCtx,
    torch.jit.ScriptFunction,
    torch.utils.checkpoint,
    module_globals,
)
GLOBAL_HOOKS = (
    "_global_buffer_registration_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
    "_global_forward_pre_hooks",
    "_global_forward_hooks",
    "_global_forward_hooks_always_called",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


@dataclass(frozen=True)
class TorchState:
    """Names, the code of functions and flags of torch at one moment."""

    names: dict[tuple[str, str], object]
    codes: dict[types.FunctionType, types.CodeType]
    mode_depth: int
    dispatch_depth: int
    flags: tuple[object, ...]

    @classmethod
    def now(cls) -> TorchState:
        names = {
            (owner.__name__, name): value
            for owner in OWNERS
            for name, value in list(vars(owner).items())
            if callable(value) or isinstance(value, (property, staticmethod, classmethod))
        }
        return cls(
            names,
            {value: value.__code__ for value in names.values() if isinstance(value, types.FunctionType)},
            torch._C._len_torch_function_stack(),
            torch._C._len_torch_dispatch_stack(),
            (
                torch.is_grad_enabled(),
                torch.is_inference_mode_enabled(),
                torch.is_autocast_enabled("cpu"),
                torch.get_default_dtype(),
                torch.backends.mha.get_fastpath_enabled(),
            ),
        )

    def differences(self, before: TorchState) -> list[str]:
        """Return what changed since `before`; names that torch itself adds lazily do not count."""
        changed = [".".join(key) for key, value in before.names.items() if self.names.get(key) is not value]
        changed += [
            f"{function.__module__}.{function.__qualname__}.__code__"
            for function, code in before.codes.items()
            if self.codes.get(function, code) is not code
        ]
        counts = {
            "torch function modes": (self.mode_depth, before.mode_depth),
            "torch dispatch modes": (self.dispatch_depth, before.dispatch_depth),
            "flags": (self.flags, before.flags),
        }
        changed += [name for name, (now, then) in counts.items() if now != then]
        return changed + [name for name in GLOBAL_HOOKS if getattr(module_globals, name)]


@dataclass(frozen=True)
class ModelState:
    """What a model holds, by identity where that matters and by value where it can change."""

    tensors: dict[str, torch.Tensor]
    attributes: dict[str, dict[str, object]]
    hooks: dict[str, tuple[int, ...]]
    classes: dict[str, type]

    HOOK_TABLES = (
        "_forward_hooks",
        "_forward_pre_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_pre_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_backward_hooks",
        "_backward_pre_hooks",
        "_state_dict_hooks",
        "_load_state_dict_pre_hooks",
    )

    @classmethod
    def of(cls, model: torch.nn.Module) -> ModelState:
        modules = dict(model.named_modules())
        return cls(
            {name: value.detach().clone() for name, value in model.state_dict().items()},
            {name: plain_attributes(module) for name, module in modules.items()},
            {name: tuple(len(vars(module)[table]) for table in cls.HOOK_TABLES) for name, module in modules.items()},
            {name: type(module) for name, module in modules.items()},
        )

    def differences(self, before: ModelState) -> list[str]:
        """Return what changed since `before`."""
        changed = [f"{name}: class" for name in before.classes if self.classes.get(name) is not before.classes[name]]
        changed += [f"{name}: hooks" for name in before.hooks if self.hooks.get(name) != before.hooks[name]]
        for name, attributes in before.attributes.items():
            now = self.attributes[name]
            changed += [f"{name}.{key}" for key in now.keys() ^ attributes.keys()]
            changed += [f"{name}.{key}" for key in now.keys() & attributes.keys() if now[key] is not attributes[key]]
        for name, value in before.tensors.items():
            if not same_bits(self.tensors[name], value):
                changed.append(f"{name}: value")
        return changed + [f"{name}: new" for name in self.tensors.keys() - before.tensors.keys()]


def plain_attributes(module: torch.nn.Module) -> dict[str, object]:
    """Return the attributes of a module, by identity; parameters, buffers and modules included."""
    attributes = dict(vars(module))
    for table in ("_parameters", "_buffers", "_modules"):
        attributes |= {f"{table}.{name}": value for name, value in vars(module)[table].items()}
    return attributes


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors hold exactly the same bytes, NaN included."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return torch.equal(bits(left), bits(right))


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor."""
    return tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
