"""Rows of the doctor about torch models; the entry point `torchlens.doctor` leads here."""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast, final

import torch
from torch import nn

from tl_core import TorchLensError
from tl_torch._compiled import source_of
from tl_torch._distributed_preflight import check_distributed, check_distributed_kinds, distributed_findings
from tl_torch._doctor_table import SUBJECTS
from tl_torch._preflight import arguments, bind, check_tensors, target_of
from tl_torch._structure import tensors_in
from tl_torch._torch_private import UninitializedTensorMixin, current_functorch_level

Rows = Iterator[Mapping[str, object]]

SITES_SHOWN = 3
_OTHER_FRAMEWORKS = frozenset({"equinox", "flax", "jax", "keras", "mlx", "paddle", "tensorflow", "tinygrad"})
_PACKED = frozenset({"qweight", "qzeros"})
"""Names that the packed weights of GPTQ and AWQ have in common."""
_PACKED_PACKAGES = frozenset({"auto_gptq", "awq", "gptqmodel"})
_ATTENTION = (nn.MultiheadAttention, nn.TransformerEncoderLayer)
_FINDINGS = ("dtensor", "device_mesh", "tensor_parallel", "pipeline_parallel", "scan_incomplete")


def rows(model: object = None, inputs: object = None) -> Rows:
    """What there is to say about a model; without one, what holds for every model.

    Args:
        model: what `tl.trace` would be given, or None.
        inputs: what it would be called with, or None.

    Yields:
        Mappings with the fields of a row of `tl_doctor`. The model is not run.
    """
    yield _threads()
    yield _capabilities()
    if model is None or _package_names(type(model)) & _OTHER_FRAMEWORKS:
        return
    yield _entry(model, inputs)
    owner = model.__self__ if isinstance(model, types.MethodType) else model
    if isinstance(owner, nn.Module):
        look = Look(owner, inputs)
        for key in SUBJECTS:
            yield _subject(key, look.sites(key))


def _threads() -> Mapping[str, object]:
    return {
        "key": "single_thread_design", "label": "Threads", "status": "scope", "severity": "ok", "detected": False,
        "details": "a trace sees the thread that started it; what other threads compute meanwhile is not in the graph",
        "suggestion": "call the model in the thread that traces",
    }  # fmt: skip


def _capabilities() -> Mapping[str, object]:
    return {
        "key": "torch_capabilities", "label": "Abilities of torch", "status": "pass",
        "severity": "ok", "detected": True,
        "details": f"torch {torch.__version__} has all that tracing makes use of",
    }  # fmt: skip


def _entry(model: object, inputs: object) -> Mapping[str, object]:
    row = {
        "key": "capture_entry", "label": "tl.trace(model)", "status": "pass", "severity": "ok", "detected": True,
        "details": "takes the model" if inputs is None else "takes the model and its inputs",
    }  # fmt: skip
    try:
        _check(model, inputs)
    except TorchLensError as error:
        problem = " ".join(error.problem.split())
        row |= {"status": "scope", "severity": "error", "details": f"refuses: {problem} ({error.code})"}
        row["suggestion"] = error.remedy
    return row


def _check(model: object, inputs: object) -> None:
    """Raise what `tl.trace` would raise before it runs the model."""
    target = target_of(_bare(model))
    named = cast("list[tuple[str, torch.Tensor]]", [*target.model.named_parameters(), *target.model.named_buffers()])
    if inputs is not None:
        named += bind(target, *arguments(inputs, None)).tensors()
    kinds = {*map(type, target.model.modules()), *(type(tensor) for _, tensor in named)}
    check_distributed(target.model, {"inputs": inputs})
    check_distributed_kinds(target.model, kinds, {"inputs": inputs})
    check_tensors(named)


def _bare(model: object) -> object:
    """What a wrapper of torch stands for; `target_of` would use up the one note about compiled models."""
    while isinstance(model, nn.Module):
        if (source := source_of(model)) is not None:
            model = source
        elif isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = cast("nn.Module", model.module)
        else:
            break
    return model


def _subject(key: str, sites: list[str]) -> Mapping[str, object]:
    subject = SUBJECTS[key]
    shown = ", ".join(sites[:SITES_SHOWN])
    more = f" and {len(sites) - SITES_SHOWN} more" if len(sites) > SITES_SHOWN else ""
    return {
        "key": key, "label": subject.label, "status": subject.status,
        "severity": subject.found if sites else "ok", "detected": bool(sites),
        "details": f"{shown}{more}: {subject.details}" if sites else subject.details,
        "suggestion": subject.suggestion,
    }  # fmt: skip


def _traced_address(site: str) -> str:
    """An address as a trace has it: without the step from a compiled module to its source."""
    return site.replace("._orig_mod", "").replace("_orig_mod.", "").replace("_orig_mod", "the model")


def _package_names(kind: type) -> set[str]:
    return {base.__module__.partition(".")[0] for base in kind.__mro__}


@final
class Look:
    """A model as the finders see it: walked once."""

    def __init__(self, model: nn.Module, inputs: object) -> None:
        self.model = model
        named = cast("Iterable[tuple[str, nn.Module]]", model.named_modules())
        self.modules = [(address or "the model", module) for address, module in named]
        self.tensors = [
            *model.named_parameters(remove_duplicate=False),
            *model.named_buffers(remove_duplicate=False),
            *tensors_in(inputs, "inputs"),
        ]
        self.findings: dict[str, list[str]] = defaultdict(list)
        for finding in distributed_findings(model, inputs):
            self.findings[str(finding["kind"])].append(f"{finding['site']} ({finding['detail']})")

    def sites(self, key: str) -> list[str]:
        """Where the model has a subject."""
        found = self.findings[key] if key in _FINDINGS else FINDERS[key](self)
        return list(dict.fromkeys(_traced_address(site) for site in found))

    def of_packages(self, *packages: str) -> Iterator[str]:
        """Modules whose class, or a class that it is made from, comes from one of these packages."""
        wanted = set(packages)
        return (address for address, module in self.modules if _package_names(type(module)) & wanted)

    def of_classes(self, *names: str) -> Iterator[str]:
        """Modules whose class is one of torch with such a name, or is made from one."""
        for address, module in self.modules:
            if any(base.__name__ in names and base.__module__.startswith("torch.") for base in type(module).__mro__):
                yield address


Finder = Callable[[Look], Iterable[str]]
FINDERS: dict[str, Finder] = {
    "hf_transformers": lambda look: look.of_packages("transformers"),
    "bitsandbytes_8bit_4bit": lambda look: look.of_packages("bitsandbytes"),
    "peft_lora_adapters": lambda look: look.of_packages("peft"),
    "lightning_training_step": lambda look: look.of_packages("lightning", "pytorch_lightning"),
    "deepspeed": lambda look: look.of_packages("deepspeed"),
    "serving_engine": lambda look: look.of_packages("vllm", "sglang"),
    "torch_compile": lambda look: (address for address, module in look.modules if source_of(module) is not None),
    "fx_graph_module": lambda look: look.of_classes("GraphModule"),
    "scripted": lambda look: look.of_classes("ScriptModule"),
    "data_parallel": lambda look: look.of_classes("DataParallel"),
    "distributed_data_parallel": lambda look: look.of_classes("DistributedDataParallel"),
    "fsdp": lambda look: look.of_classes("FullyShardedDataParallel", "FSDPModule"),
}
"""By key of a row: what finds the places."""


def _finds(key: str) -> Callable[[Finder], Finder]:
    def add(finder: Finder) -> Finder:
        FINDERS[key] = finder
        return finder

    return add


@_finds("accelerate_device_map_auto")
def _device_map(look: Look) -> Iterator[str]:
    for address, module in look.modules:
        if "hf_device_map" in vars(module) or "_hf_hook" in vars(module):
            yield address


@_finds("accelerate_cpu_disk_offload")
def _offload(look: Look) -> Iterator[str]:
    for address, module in look.modules:
        hook: Any = vars(module).get("_hf_hook")
        if hook is not None and "offload" in vars(hook) and hook.offload:
            yield address


@_finds("gptq_awq_quantized")
def _packed(look: Look) -> Iterator[str]:
    for address, module in look.modules:
        own = {name for name, _ in (*module.named_buffers(recurse=False), *module.named_parameters(recurse=False))}
        if own >= _PACKED or _package_names(type(module)) & _PACKED_PACKAGES:
            yield address


@_finds("tied_parameters")
def _tied(look: Look) -> Iterator[str]:
    addresses: dict[int, list[str]] = defaultdict(list)
    for address, param in look.model.named_parameters(remove_duplicate=False):
        addresses[id(param)].append(address)
    return (" = ".join(names) for names in addresses.values() if len(names) > 1)


@_finds("lazy_modules")
def _lazy(look: Look) -> Iterator[str]:
    return (address for address, tensor in look.tensors if isinstance(tensor, UninitializedTensorMixin))


@_finds("quantized_tensor")
def _quantized(look: Look) -> Iterator[str]:
    yield from (address for address, tensor in look.tensors if not _is_lazy(tensor) and tensor.is_quantized)
    for address, module in look.modules:
        if type(module).__module__.startswith(("torch.ao.nn.quantized", "torch.nn.quantized")):
            yield address


@_finds("fp8_dtype")
def _float8(look: Look) -> Iterator[str]:
    return (address for address, tensor in look.tensors if "float8" in str(tensor.dtype))


@_finds("tensor_subclass")
def _subclasses(look: Look) -> Iterator[str]:
    for address, tensor in look.tensors:
        if type(tensor).__module__.partition(".")[0] != "torch":
            yield f"{address} ({type(tensor).__name__})"


@_finds("vmap_functorch")
def _transforms(_look: Look) -> Iterator[str]:
    if current_functorch_level() is not None:
        yield "a transform is running now"


@_finds("cuda_graphs")
def _cuda_graphs(look: Look) -> Iterator[str]:
    for address, module in look.modules:
        forward = vars(module).get("forward")
        if isinstance(forward, types.FunctionType) and forward.__module__ == "torch.cuda.graphs":
            yield address
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        yield "a graph is being captured now"


@_finds("fused_attention")
def _fused(look: Look) -> Iterator[str]:
    return (address for address, module in look.modules if isinstance(module, _ATTENTION) and not module.training)


@_finds("device_context_factory")
def _default_device(_look: Look) -> Iterator[str]:
    device = torch.empty(0).device
    if device.type != "cpu":
        yield str(device)


@_finds("multi_gpu_rng")
def _devices(look: Look) -> Iterator[str]:
    devices = sorted({str(tensor.device) for _, tensor in look.tensors if tensor.device.type not in {"cpu", "meta"}})
    return iter(devices if len(devices) > 1 else ())


def _is_lazy(tensor: Any) -> bool:
    return isinstance(tensor, cast("type", UninitializedTensorMixin))
