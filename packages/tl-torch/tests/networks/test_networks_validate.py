"""The networks of the list are validated: what the record of each says is true, op by op."""

from __future__ import annotations

import contextlib
import warnings

import pytest
import torch
from networks import NETWORKS, Network
from recipes import build

import tl_torch as tl

MOST_EXEMPT = 0.02
"""Largest share of edges whose op need not answer."""

DEGENERATE = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": "clamp",  # one feature level is used, so levels are clamped to 5..5
    "mamba": "mul",  # the state starts at zero, and is multiplied
    "rwkv": "mul",  # the state starts at zero, and is multiplied
    "longformer": "einsum",  # the mask is zero everywhere, and is multiplied
    "encodec": "conv1d",  # an untrained codebook is zero everywhere
    "time_series_transformer": "where",  # every series has a scale, so the default scale is not used
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
    elif network.name in STOCHASTIC and failure is not None:
        assert (failure.check, failure.func_name) == ("perturbation", STOCHASTIC[network.name])
    else:
        assert status.passed, failure and failure.summary()


def test_most_networks_are_no_exception() -> None:
    assert len(DEGENERATE) + len(STOCHASTIC) <= 7
