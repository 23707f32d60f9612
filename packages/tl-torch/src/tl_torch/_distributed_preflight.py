"""Model state that is spread over ranks: found before the model runs, without importing what the user has not."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_core import DistributedCaptureUnsupportedError
from tl_torch._torch_private import forward_hooks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import nn

Finding = dict[str, object]
"""`kind`, `site`, `detail`, and the geometry of a sharded tensor."""

_PACKAGES = (
    "torch.distributed.tensor", "torch.distributed._tensor", "torch.distributed.fsdp",
    "torch.distributed._composable", "torch.distributed.pipelining", "torch.distributed._shard",
)  # fmt: skip
"""Packages without which no such state can exist."""
_PARALLEL_STYLES = ("torch.distributed.tensor.parallel", "torch.distributed._tensor.parallel")
_PARALLEL_HOOKS = ("torch.distributed.tensor", "torch.distributed._tensor")
MAX_VISITED = 200_000
"""Most values that the scan looks at."""
MAX_DEPTH = 8
"""How deep it follows containers and objects."""
_LEAVES = (str, bytes, int, float, complex, type(None), type, torch.dtype, torch.device)


def may_be_distributed() -> bool:
    """Whether a package is loaded without which no such state exists."""
    return any(name in sys.modules for name in _PACKAGES)


def check_distributed(model: nn.Module, inputs: Mapping[str, object]) -> None:
    """Refuse model state that is spread over ranks, where a process group is running.

    Args:
        model: the module that is going to run.
        inputs: what it is called with, by name.

    Raises:
        DistributedCaptureUnsupportedError: `fields["findings"]` lists each place (`distributed_state_unsupported`).
    """
    if may_be_distributed() and _group_running():
        _refuse(_Scan().run(model, inputs))


def check_distributed_kinds(model: nn.Module, kinds: Iterable[type], inputs: Mapping[str, object]) -> None:
    """Refuse such state where the class of a module or tensor gives it away, with or without a process group.

    Args:
        model: the module that is going to run.
        kinds: classes of its modules, tensors and inputs.
        inputs: what it is called with, by name.

    Raises:
        DistributedCaptureUnsupportedError: `fields["findings"]` lists each place (`distributed_state_unsupported`).
    """
    if may_be_distributed() and any(_class_kind(kind) for kind in kinds):
        _refuse(_Scan().run(model, inputs))


def _refuse(found: list[Finding]) -> None:
    findings = [finding for finding in found if finding["kind"] != "device_mesh"]
    if not findings:
        return
    shown = "".join(f"\n    {finding['site']}: {finding['kind']}, {finding['detail']}" for finding in findings[:8])
    incomplete = all(finding["kind"] == "scan_incomplete" for finding in findings)
    raise DistributedCaptureUnsupportedError(
        "The model or its inputs hold state that is spread over ranks, or that may be:" + shown,
        code="distributed_state_unsupported",
        remedy=(
            "keep what cannot be looked into off the model and its inputs"
            if incomplete
            else "trace an unsharded copy of the model on one rank"
        ),
        findings=tuple(findings),
    )


def _group_running() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def distributed_findings(model: nn.Module, inputs: object = None) -> tuple[Finding, ...]:
    """Every place where a model or its inputs hold distributed state; inert device meshes are among them.

    Args:
        model: the module to look at.
        inputs: what it would be called with.

    Returns:
        Rows with `kind` (`dtensor`, `fsdp`, `tensor_parallel`, `pipeline_parallel`, `scan_incomplete`, `device_mesh`),
        `site` and `detail`.
    """
    return tuple(_Scan().run(model, {"inputs": inputs})) if may_be_distributed() else ()


@functools.cache
def _class_kind(kind: type) -> tuple[str, str] | None:
    """Kind of finding that an instance of a class is, and what to call it."""
    for base in kind.__mro__:
        package, name = base.__module__, base.__qualname__
        if not package.startswith("torch.distributed"):
            continue
        if name in {"FullyShardedDataParallel", "FSDPModule", "FlatParameter"}:
            return "fsdp", name
        if name in {"DTensor", "ShardedTensor"}:
            return "dtensor", name
        if name in {"PipelineStage", "_PipelineStageBase", "Pipe"} or package.startswith(
            "torch.distributed.pipelining"
        ):
            return "pipeline_parallel", name
        if package.startswith(_PARALLEL_STYLES):
            return "tensor_parallel", name
        if name == "DeviceMesh":
            return "device_mesh", name
    return None


@final
class _Scan:
    """A walk over everything that a model holds; bounded, and it says so where a bound was met."""

    def __init__(self) -> None:
        self._entered: set[int] = set()
        self._visited = 0
        self._findings: list[Finding] = []

    def run(self, model: nn.Module, inputs: Mapping[str, object]) -> list[Finding]:
        """Everything found."""
        listed = list(cast("Iterable[tuple[str, nn.Module]]", model.named_modules()))
        self._entered.update(id(module) for _, module in listed)
        for address, module in listed:
            self._module(address, module)
        for name, value in inputs.items():
            self._value(name, value, 0)
        return self._findings

    def _module(self, address: str, module: nn.Module) -> None:
        found = _class_kind(type(module))
        if found is not None:
            self._note(found[0], address or "the model", found[1])
        for hook in forward_hooks_of(module):
            if _is_parallel_hook(hook):
                self._note("tensor_parallel", address or "the model", "a forward hook of a parallel style")
        for name, value in vars(module).items():
            self._value(f"{address}.{name}" if address else name, value, 0)

    def _value(self, site: str, value: Any, depth: int) -> None:
        if isinstance(value, _LEAVES) or id(value) in self._entered:
            return
        self._entered.add(id(value))
        self._visited += 1
        kind = cast("type[object]", type(value))
        found = _class_kind(kind)
        if found is not None:
            self._note(found[0], site, found[1], value)
            return
        if isinstance(value, torch.Tensor):
            return
        if depth >= MAX_DEPTH or self._visited > MAX_VISITED:
            if self._visited <= MAX_VISITED + 1:
                self._note("scan_incomplete", site, "the scan ended here")
            return
        try:
            children = list(_children(value))
        except Exception as error:  # noqa: BLE001 - foreign code; what it raised becomes a finding
            self._note("scan_incomplete", site, f"reading it raised {type(error).__name__}")
            return
        for step, child in children:
            self._value(f"{site}{step}", child, depth + 1)

    def _note(self, kind: str, site: str, detail: str, value: Any = None) -> None:
        finding: Finding = {"kind": kind, "site": site, "detail": detail}
        if detail == "DTensor":
            finding |= {
                "placements": tuple(str(placement) for placement in value.placements),
                "mesh_shape": tuple(value.device_mesh.shape),
                "global_shape": tuple(value.shape),
            }
        self._findings.append(finding)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            yield f"[{key!r}]", item
    elif isinstance(value, (list, tuple, set, frozenset)):
        for number, item in enumerate(cast("list[Any]", value)):
            yield f"[{number}]", item
    elif isinstance(value, functools.partial):
        yield ".args", cast("Any", value).args
        yield ".keywords", cast("Any", value).keywords
    elif not type(value).__module__.startswith(_NOT_ENTERED):
        for name, item in getattr(value, "__dict__", {}).items():
            yield f".{name}", item


_NOT_ENTERED = ("torch", "builtins", "numpy", "types", "functools", "collections", "threading", "_thread", "weakref")


def _is_parallel_hook(hook: Any) -> bool:
    while isinstance(hook, functools.partial):
        hook = cast("Any", hook).func
    return str(getattr(hook, "__module__", "")).startswith(_PARALLEL_HOOKS)
