"""What the doctor says of the parts of a torch model: how each is handled, and what to do where it is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """One subject that a model may have."""

    label: str
    status: Literal["pass", "known_broken", "scope", "not_tested"]
    found: Literal["ok", "info", "warning", "error"]
    """Severity where the model has it; where it has not, the row is ok."""
    details: str
    suggestion: str = ""


_ONE_RANK = "trace an unsharded copy of the model on one rank"

SUBJECTS = {
    # libraries
    "hf_transformers": Subject(
        "Hugging Face transformers", "pass", "info",
        "traced like any module; fields of its outputs keep their names",
        "leave out use_cache=True where the cache is of no interest",
    ),
    "accelerate_device_map_auto": Subject(
        "accelerate device map", "not_tested", "warning",
        "hooks of accelerate move tensors between devices; the moves are ops, and this was not tried",
        "trace a copy on one device where that fits",
    ),
    "accelerate_cpu_disk_offload": Subject(
        "accelerate offload", "scope", "error",
        "offloaded weights are meta tensors outside their module's call, and tl.trace refuses those",
        "load the model without offload_folder and without cpu or disk in its device map",
    ),
    "bitsandbytes_8bit_4bit": Subject(
        "bitsandbytes weights", "not_tested", "warning",
        "kernels of bitsandbytes are one op each; bytes and FLOPs are those of the packed weights",
        "trace the checkpoint that is not quantized, where exact numbers matter",
    ),
    "gptq_awq_quantized": Subject(
        "GPTQ and AWQ weights", "not_tested", "warning",
        "not tried anywhere: counts, bytes and FLOPs would be those of the packed weights",
        "trace the checkpoint that is not quantized, where exact numbers matter",
    ),
    "peft_lora_adapters": Subject(
        "PEFT adapters", "not_tested", "info",
        "adapters are modules like others; this was not tried",
        "merge_and_unload() gives the plain model",
    ),
    "lightning_training_step": Subject(
        "Lightning module", "not_tested", "info",
        "forward is traced; training_step can be given as a method, and this was not tried",
        "tl.trace(module, x), or tl.trace(module.training_step, (batch, 0)) for the loss",
    ),
    "deepspeed": Subject(
        "DeepSpeed engine", "not_tested", "warning",
        "the engine partitions weights and runs hooks that were not tried", "trace engine.module before ZeRO-3 splits it",
    ),
    "serving_engine": Subject(
        "Serving engines", "scope", "error",
        "vLLM and SGLang run fused kernels, paged caches and CUDA graphs, which are out of scope",
        "trace the same model and revision from transformers",
    ),
    # weights
    "tied_parameters": Subject(
        "Tied parameters", "pass", "info", "one Param with every address that leads to it, counted once"
    ),
    "lazy_modules": Subject(
        "Lazy parameters", "pass", "info",
        "the traced run gives them their shapes; they are recorded from then on",
        "run the model once before, to have them from the start",
    ),
    "quantized_tensor": Subject(
        "Quantized modules", "pass", "warning",
        "traced with a warning; FLOPs are those of the plain operators, an estimate",
        "compare work and time in the model that is not quantized",
    ),
    "fp8_dtype": Subject("float8 tensors", "pass", "info", "recorded, saved, loaded and replayed like any dtype"),
    "tensor_subclass": Subject(
        "Tensor subclasses", "pass", "info",
        "recorded as what they compute; fields of the subclass are not", "use plain tensors in the traced run",
    ),
    # wrappers and transforms
    "torch_compile": Subject(
        "torch.compile", "pass", "info",
        "the Python source runs and is traced, not the compiled kernels; "
        "after a trace, the compiled model may compile again once or twice",
        "use a profiler for the compiled program",
    ),
    "fx_graph_module": Subject(
        "FX graph module", "pass", "info", "traced like any module; source lines are those of the generated code"
    ),
    "scripted": Subject(
        "TorchScript", "pass", "warning",
        "each call of a scripted part is one op, and what runs inside it is not in the graph",
        "set PYTORCH_JIT=0 before the model's code is imported",
    ),
    "vmap_functorch": Subject(
        "torch.func transforms", "pass", "info",
        "a transform inside forward is one op with transform_kind; a trace inside a transform sees its inner tensors",
        "trace outside torch.func.vmap and torch.func.grad",
    ),
    "cuda_graphs": Subject(
        "CUDA graphs", "not_tested", "warning",
        "a replayed graph runs kernels without Python: no op of it is seen, and this was not tried anywhere",
        "trace a copy that was built without make_graphed_callables, outside torch.cuda.graph()",
    ),
    "fused_attention": Subject(
        "Fused attention modules", "pass", "info",
        "in eval mode the unfused program is traced (linear, scaled_dot_product_attention, ...); "
        "it agrees with the fused kernel to rounding",
    ),
    "device_context_factory": Subject(
        "Default device", "pass", "info", "factories inside forward follow the default device, as they do without a trace"
    ),
    # several devices, several ranks
    "multi_gpu_rng": Subject(
        "Several devices", "not_tested", "warning",
        "random numbers of each device are restored for replay; this was not tried on several devices",
        "trace a copy on one device where that fits",
    ),
    "data_parallel": Subject(
        "DataParallel", "pass", "info", "the module inside is traced on one device; its replicas are not"
    ),
    "distributed_data_parallel": Subject(
        "DistributedDataParallel", "pass", "info", "the module inside is traced, without the gradient exchange"
    ),
    "fsdp": Subject("FSDP", "scope", "error", "weights are spread over ranks; tl.trace refuses them", _ONE_RANK),
    "dtensor": Subject("DTensor", "scope", "error", "tensors are spread over ranks; tl.trace refuses them", _ONE_RANK),
    "device_mesh": Subject("Device mesh", "pass", "info", "a mesh that shards nothing does not matter"),
    "tensor_parallel": Subject(
        "Tensor parallel styles", "scope", "error", "layers are spread over ranks; tl.trace refuses them", _ONE_RANK
    ),
    "pipeline_parallel": Subject(
        "Pipeline stages", "scope", "error", "a stage is a part of a model; tl.trace refuses it",
        "trace the module of the stage on its own",
    ),
    "scan_incomplete": Subject(
        "Unreadable state", "scope", "error",
        "state that cannot be looked into could be sharded; where that cannot be excluded, tl.trace refuses",
        "keep what raises when it is read off the model and its inputs",
    ),
}  # fmt: skip
