"""The networks of the list are validated: what the record of each says is true, op by op."""

from __future__ import annotations

import contextlib
import shutil
import warnings
from typing import TYPE_CHECKING

import pytest
import torch
from networks import NETWORKS, Network
from recipes import build

import tl_torch as tl
from tl_core import ArtifactError

if TYPE_CHECKING:
    from pathlib import Path

MOST_EXEMPT = 0.02
"""Largest share of edges whose op need not answer."""

DEGENERATE = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": "clamp",  # both feature maps have one scale: levels are clamped to 5..5
    "mamba": "mul",  # the state starts at zero everywhere, and is multiplied
    "rwkv": "mul",  # the state starts at zero everywhere, and is multiplied
}
"""Networks whose forward pass ignores one of its values on these inputs, and the function that does: no record of
such a pass can be proved, and validation has to say so."""

STOCHASTIC = {"swin_v2_t": "mul"}
"""Networks that drop whole branches at random; a dropped branch is multiplied by zero."""


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_network_validates(network: Network, record_property: pytest.RecordProperty) -> None:
    case = build(network)
    torch.manual_seed(11)
    with (
        torch.set_grad_enabled(network.values or network.mode == "train"),
        contextlib.redirect_stdout(None),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        status = tl.validation(case.model, case.args, case.kwargs)
    record_property("exemptions", status.exemptions())
    edges = status.perturbed_parent_count + status.exempted_parent_count
    assert status.exempted_parent_count <= MOST_EXEMPT * edges, status.exemptions()
    failure = status.failure
    if network.name in DEGENERATE:
        assert failure is not None
        assert (failure.check, failure.func_name) == ("perturbation", DEGENERATE[network.name])
        assert failure.message.endswith("is zero everywhere") is (failure.func_name == "mul")
    elif network.name in STOCHASTIC and failure is not None:
        assert (failure.check, failure.func_name) == ("perturbation", STOCHASTIC[network.name])
    else:
        assert status.passed, failure and failure.summary()


FOREIGN = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": ["torch.ops.torchvision.nms", "torch.ops.torchvision.roi_align"],
    "maskrcnn_resnet50_fpn": ["torch.ops.torchvision.nms", "torch.ops.torchvision.roi_align"],
    "ssdlite320_mobilenet_v3_large": ["torch.ops.torchvision.nms"],
}
"""Networks that call functions which are not torch's own, so that their bundles do not run."""


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_network_validates_where_it_is_loaded(network: Network, tmp_path: Path) -> None:
    case = build(network)
    torch.manual_seed(11)
    with (
        torch.set_grad_enabled(network.values or network.mode == "train"),
        contextlib.redirect_stdout(None),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        options = tl.CaptureOptions(save_args=True, save_rng=True)
        run = tl.trace(case.model, case.args, case.kwargs, capture=options)
        run.validate_forward_pass([])
        live = run.validation_replay_status
        path = run.save(tmp_path / "run.tlspec", level="executable_with_callables")
        del run, case
        loaded = tl.load(path)
        if network.name in FOREIGN:
            with pytest.raises(ArtifactError) as caught:
                loaded.validate_forward_pass([])
            assert list(caught.value.fields["functions"]) == FOREIGN[network.name]
        else:
            loaded.validate_forward_pass([])
            assert loaded.validation_replay_status.decisions == live.decisions
    shutil.rmtree(tmp_path)  # up to half a gigabyte


def test_most_networks_are_no_exception() -> None:
    assert len(DEGENERATE) + len(STOCHASTIC) <= 4
