"""What the doctor's rows say of torch models: found where they are, silent where they are not."""

from __future__ import annotations

import subprocess
import sys
import types
import warnings
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

import tl_torch as tl
from tl_torch._doctor import FINDERS, rows
from tl_torch._doctor_table import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Mapping

X = torch.ones(2, 4)
WITHOUT_A_MODEL = ["single_thread_design", "torch_capabilities"]
FIELDS = ["key", "label", "status", "severity", "detected", "details", "suggestion"]


def report(model: object = None, inputs: object = None) -> dict[str, Mapping[str, object]]:
    return {str(row["key"]): row for row in rows(model, inputs)}


def found(model: object, inputs: object = None) -> list[str]:
    """Keys of the subjects that a model has."""
    return [key for key, row in report(model, inputs).items() if row["detected"] and key in SUBJECTS]


def pretend(module: nn.Module, package: str, **state: object) -> nn.Module:
    """The same module with a class that says it comes from a package."""
    module.__class__ = type("Foreign", (type(module),), {"__module__": f"{package}.modeling"})
    vars(module).update(state)
    return module


def test_the_entry_point_leads_to_the_rows() -> None:
    points = [point for point in entry_points(group="torchlens.doctor") if point.name == "torch"]
    assert points[0].load() is rows


def test_an_ordinary_model_has_none_of_the_subjects_and_is_taken() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    everything = report(model, X)
    assert found(model, X) == []
    assert everything["capture_entry"]["status"] == "pass"
    assert {row["severity"] for row in everything.values()} == {"ok"}
    assert set(everything) == {*SUBJECTS, "capture_entry", *WITHOUT_A_MODEL}


def test_every_row_has_the_fields_of_a_row_and_every_subject_a_finder() -> None:
    for row in rows(nn.Linear(4, 4)):
        assert set(row) | {"suggestion"} == set(FIELDS)
    findings = {"dtensor", "device_mesh", "tensor_parallel", "pipeline_parallel", "scan_incomplete"}
    assert set(FINDERS) | findings == set(SUBJECTS)


def test_without_a_model_only_what_holds_for_all() -> None:
    assert list(report()) == WITHOUT_A_MODEL
    assert report()["single_thread_design"]["status"] == "scope"


def test_this_torch_is_named() -> None:
    row = report()["torch_capabilities"]
    assert (row["severity"], row["details"]) == ("ok", f"torch {torch.__version__} has all that tracing makes use of")


def test_a_model_of_another_framework_is_left_to_its_own_rows() -> None:
    assert list(report(type("Net", (), {"__module__": "equinox.nn"})())) == WITHOUT_A_MODEL


def test_tied_parameters_are_named_together() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    row = report(model)["tied_parameters"]
    assert (row["status"], row["severity"]) == ("pass", "info")
    assert str(row["details"]).startswith("0.weight = 1.weight: ")


def test_more_places_than_three_are_counted() -> None:
    model = nn.Sequential(*[nn.LazyLinear(4) for _ in range(3)])
    details = str(report(model)["lazy_modules"]["details"])
    assert details.startswith("0.weight, 0.bias, 1.weight and 3 more: ")


def test_a_compiled_model_is_found_under_the_addresses_of_its_source() -> None:
    model = nn.Sequential(torch.compile(nn.Sequential(nn.LazyLinear(4))))
    everything = report(model)
    assert str(everything["torch_compile"]["details"]).startswith("0: ")
    assert str(everything["lazy_modules"]["details"]).startswith("0.0.weight, 0.0.bias: ")


def test_a_compiled_model_is_judged_as_its_source_without_a_warning() -> None:
    model = pretend(nn.Linear(4, 4), "transformers")
    everything = report(nn.DataParallel(torch.compile(model)), X)
    assert everything["capture_entry"]["details"] == "takes the model and its inputs"
    row = report(torch.compile(model), X)["hf_transformers"]
    assert str(row["details"]).startswith("the model: ")


def test_wrappers_of_torch() -> None:
    assert found(nn.DataParallel(nn.Linear(4, 4))) == ["data_parallel"]
    assert found(torch.fx.symbolic_trace(nn.Linear(4, 4))) == ["fx_graph_module"]
    assert found(nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()) == ["fused_attention"]
    assert found(nn.TransformerEncoderLayer(8, 2, batch_first=True)) == []


def test_scripted_parts_warn_and_a_scripted_model_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates it
        scripted = torch.jit.script(nn.Linear(4, 4))
    inside = report(nn.Sequential(scripted), X)
    assert (inside["scripted"]["severity"], inside["capture_entry"]["status"]) == ("warning", "pass")
    assert report(scripted)["capture_entry"]["severity"] == "error"


def test_kinds_of_weights() -> None:
    model = nn.Linear(4, 4)
    model.register_buffer("scale", torch.ones(2).to(torch.float8_e4m3fn))
    assert found(model) == ["fp8_dtype"]
    kind = type("Tagged", (torch.Tensor,), {"__module__": "elsewhere"})
    row = report(nn.Linear(4, 4), X.as_subclass(kind))["tensor_subclass"]
    assert str(row["details"]).startswith("inputs (Tagged): ")
    packed = nn.Linear(4, 4)
    packed.register_buffer("qweight", torch.ones(2, dtype=torch.int32))
    assert found(packed) == []
    packed.register_buffer("qzeros", torch.ones(2, dtype=torch.int32))
    row = report(packed)["gptq_awq_quantized"]
    assert (row["status"], row["severity"]) == ("not_tested", "warning")


@pytest.mark.filterwarnings("ignore")  # torch deprecates it
def test_quantized_modules_warn() -> None:
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)), {nn.Linear})
    row = report(model)["quantized_tensor"]
    assert (row["status"], row["severity"], row["detected"]) == ("pass", "warning", True)


@pytest.mark.parametrize(
    ("package", "key", "severity"),
    [
        ("transformers", "hf_transformers", "info"),
        ("peft", "peft_lora_adapters", "info"),
        ("bitsandbytes", "bitsandbytes_8bit_4bit", "warning"),
        ("pytorch_lightning", "lightning_training_step", "info"),
        ("deepspeed", "deepspeed", "warning"),
        ("vllm", "serving_engine", "error"),
        ("gptqmodel", "gptq_awq_quantized", "warning"),
    ],
)
def test_modules_of_libraries_by_their_class(package: str, key: str, severity: str) -> None:
    model = nn.Sequential(pretend(nn.Linear(4, 4), package))
    assert found(model) == [key]
    assert report(model)[key]["severity"] == severity


def test_hooks_of_accelerate() -> None:
    hook = types.SimpleNamespace(offload=False)
    model = pretend(nn.Linear(4, 4), "anything", hf_device_map={"": 0}, _hf_hook=hook)
    assert found(model) == ["accelerate_device_map_auto"]
    hook.offload = True
    assert report(model)["accelerate_cpu_disk_offload"]["severity"] == "error"


def test_a_forward_that_replays_a_graph() -> None:
    model = nn.Linear(4, 4)
    assert report(model)["cuda_graphs"]["status"] == "not_tested"
    forward = types.FunctionType(compile("0", "", "eval"), {"__name__": "torch.cuda.graphs"})
    vars(model)["forward"] = forward
    row = report(nn.Sequential(model))["cuda_graphs"]
    assert (row["severity"], str(row["details"])[:3]) == ("warning", "0: ")


def test_a_running_transform_and_a_default_device() -> None:
    keys: list[str] = []
    model = nn.Linear(4, 4)
    torch.func.vmap(lambda x: (keys.extend(found(model)), x)[1])(X)
    assert keys == ["vmap_functorch"]
    with torch.device("meta"):
        everything = report(model)
    assert str(everything["device_context_factory"]["details"]).startswith("meta: ")


def test_what_trace_refuses_is_refused_in_the_same_words() -> None:
    model = nn.Linear(4, 4, device="meta")
    with pytest.raises(tl.UnsupportedTensorVariantError) as caught:
        tl.trace(model, X)
    row = report(model, X)["capture_entry"]
    assert (row["status"], row["severity"], row["suggestion"]) == ("scope", "error", caught.value.remedy)
    assert row["details"] == f"refuses: {' '.join(caught.value.problem.split())} (unsupported_tensor_variant)"


@pytest.mark.parametrize(
    ("model", "inputs", "code"),
    [
        (torch.relu, X, "model_type_unsupported"),
        (nn.Linear(4, 4), (X, X, X), "inputs_do_not_fit"),
        (nn.Linear(4, 4), X.to_sparse(), "unsupported_tensor_variant"),
    ],
)
def test_refusals_name_their_code(model: object, inputs: object, code: str) -> None:
    assert str(report(model, inputs)["capture_entry"]["details"]).endswith(f"({code})")


def test_a_method_is_looked_at_through_its_model() -> None:
    model = nn.Sequential(nn.LazyLinear(4))
    assert found(model.forward, X) == ["lazy_modules"]
    assert report(model.forward, X)["capture_entry"]["status"] == "pass"


def test_the_model_is_not_run_and_nothing_of_it_changes() -> None:
    model = nn.LazyLinear(4)
    before = dict(vars(model))
    report(model, X)
    assert vars(model) == before
    assert model.has_uninitialized_params()


SHARDED = """
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # torch before 2.6
    from torch.distributed._composable.fsdp import fully_shard
try:
    from torch.distributed.tensor import distribute_module
except ImportError:  # torch before 2.5
    from torch.distributed._tensor import distribute_module
from tl_torch._doctor import rows
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))
def severities(model):
    return {row["key"]: row["severity"] for row in rows(model) if row["detected"] and row["key"] != "torch_capabilities"}
holder = nn.Linear(4, 4)
holder.mesh = mesh
assert severities(holder) == {"capture_entry": "ok", "device_mesh": "info"}, severities(holder)
model = distribute_module(nn.Linear(4, 4), mesh)
assert severities(model) == {"capture_entry": "error", "dtensor": "error"}, severities(model)
model = fully_shard(nn.Linear(4, 4), mesh=mesh)
found = severities(model)
assert found["fsdp"] == found["dtensor"] == found["capture_entry"] == "error", found
wrapped = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
assert severities(wrapped) == {"capture_entry": "ok", "distributed_data_parallel": "info"}, severities(wrapped)
dist.destroy_process_group()
"""


def test_sharded_models_are_found_and_refused() -> None:
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SHARDED], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
