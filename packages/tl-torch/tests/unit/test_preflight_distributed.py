"""State that is spread over ranks is refused before the model runs; a mesh that does nothing is not."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this torch has no distributed package")
newer = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6),
    reason="the public names of DTensor, fully_shard and PipelineStage came with torch 2.5 and 2.6",
)
X = torch.ones(2, 4)


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.runs = 0

    def forward(self, x: Tensor) -> Tensor:
        self.runs += 1
        return self.linear(x)


@pytest.fixture(scope="module", autouse=True)
def group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture
def mesh() -> object:
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cpu", (1,))


def refused(model: nn.Module, inputs: object = X) -> list[dict[str, object]]:
    with pytest.raises(tl.DistributedCaptureUnsupportedError) as caught:
        tl.trace(model, inputs)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.code == "distributed_state_unsupported"
    assert caught.value.remedy
    findings = list(caught.value.fields["findings"])
    told = [row["kind"] for row in tl.distributed_findings(model, inputs) if row["kind"] != "device_mesh"]
    assert told == [finding["kind"] for finding in findings]
    return findings


@newer
def test_parameter_that_is_a_dtensor(mesh: object) -> None:
    from torch.distributed.tensor import Shard, distribute_tensor

    model = Counts()
    model.linear.weight = nn.Parameter(distribute_tensor(model.linear.weight.detach(), mesh, [Shard(0)]))
    (finding,) = refused(model)
    assert (finding["kind"], finding["detail"]) == ("dtensor", "DTensor")
    assert "weight" in str(finding["site"])
    assert "linear" in str(finding["site"])
    assert (finding["mesh_shape"], finding["global_shape"], finding["placements"]) == ((1,), (4, 4), ("S(0)",))
    assert model.runs == 0


@newer
def test_input_that_is_a_dtensor(mesh: object) -> None:
    from torch.distributed.tensor import Replicate, distribute_tensor

    model = Counts()
    (finding,) = refused(model, {"x": [distribute_tensor(X, mesh, [Replicate()])]})
    assert finding["kind"] == "dtensor"
    assert finding["site"] == "x['x'][0]"
    assert model.runs == 0


@newer
def test_tensor_parallel_styles(mesh: object) -> None:
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    model = Counts()
    parallelize_module(model, mesh, {"linear": ColwiseParallel()})
    kinds = {finding["kind"] for finding in refused(model)}
    assert kinds == {"dtensor", "tensor_parallel"}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_fsdp() -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    wrapped = FullyShardedDataParallel(Counts(), device_id=torch.device("cpu"))
    findings = refused(wrapped)
    assert (findings[0]["kind"], findings[0]["detail"]) == ("fsdp", "FullyShardedDataParallel")
    assert findings[0]["site"] == "the model"
    inside = refused(nn.Sequential(wrapped))
    assert (inside[0]["kind"], inside[0]["site"]) == ("fsdp", "0")


@newer
def test_fully_shard(mesh: object) -> None:
    from torch.distributed.fsdp import fully_shard

    model = Counts()
    fully_shard(model, mesh=mesh)
    kinds = {(finding["kind"], finding["site"]) for finding in refused(model)}
    assert ("fsdp", "the model") in kinds
    assert "dtensor" in {kind for kind, _ in kinds}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_sharded_tensor() -> None:
    from torch.distributed._shard import sharded_tensor
    from torch.distributed._shard.sharding_spec import ChunkShardingSpec

    model = Counts()
    model.table = sharded_tensor.zeros(ChunkShardingSpec(dim=0, placements=["rank:0/cpu"]), 4, 4)
    (finding,) = refused(model)
    assert (finding["kind"], finding["detail"], finding["site"]) == ("dtensor", "ShardedTensor", "table")
    assert model.runs == 0


@newer
def test_pipeline_stage() -> None:
    from torch.distributed.pipelining import PipelineStage

    model = Counts()
    model.stage = PipelineStage(nn.Linear(4, 4), 0, 1, torch.device("cpu"))
    (finding,) = [row for row in refused(model) if row["kind"] == "pipeline_parallel"]
    assert finding["site"] == "stage"


def test_mesh_that_nothing_uses_is_for_information_only(mesh: object) -> None:
    model = Counts()
    model.mesh = mesh
    assert tl.trace(model, X).capture_verified
    (finding,) = tl.distributed_findings(model)
    assert (finding["kind"], finding["site"]) == ("device_mesh", "mesh")


def test_wrapper_of_distributed_data_parallelism_is_looked_through() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    trace = tl.trace(nn.parallel.DistributedDataParallel(model), X)
    assert [(op.func_name, op.module) for op in trace.ops if op.kind == "op"] == [("linear", "0"), ("relu", "1")]
    assert trace.capture_verified


class Raises(dict):
    def items(self) -> object:
        raise OSError("no")


def test_container_that_cannot_be_looked_into() -> None:
    import torch.distributed.tensor  # noqa: F401 - such state can exist from here on

    model = Counts()
    model.settings = Raises(a=1)
    (finding,) = refused(model)
    assert (finding["kind"], finding["site"]) == ("scan_incomplete", "settings")
    assert "OSError" in str(finding["detail"])


def test_nest_that_is_too_deep() -> None:
    model = Counts()
    model.nest = nest = []
    for _ in range(30):
        nest.append([])
        nest = nest[0]
    (finding,) = refused(model)
    assert finding["kind"] == "scan_incomplete"


def test_ordinary_model_in_a_running_group_is_traced() -> None:
    model = nn.Sequential(Counts(), nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))
    assert tl.distributed_findings(model, X) == ()
    assert tl.trace(model, X.unsqueeze(0)).capture_verified


def test_nothing_of_the_parallel_packages_is_imported() -> None:
    program = (
        "import sys, torch, tl_torch as tl\n"
        "tl.trace(torch.nn.Linear(2, 2), torch.ones(1, 2))\n"
        "found = [name for name in sys.modules if name.startswith(('torch.distributed.tensor', 'torch.distributed.fsdp',"
        " 'torch.distributed.pipelining', 'torch._dynamo'))]\n"
        "print(found)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
