"""A recorder that errs is caught at the op at which it erred; the same recorder without the error passes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from mutations import MUTATIONS, Spoiler, hiding, spoiling
from ten_networks import BUILDERS, build

import tl_torch as tl

WITHOUT = {
    "swap_parents": {"mlp": 0, "skip": 0},
    "swap_arguments": {"residual", "recurrent", "attention", "skip", "mixer", "stochastic", "multiple"},
}
"""Networks without an op that the mutation could spoil."""
SHARE = (0.0, 0.5, 0.99)
"""Where among the ops that could be spoiled: the first, the middle one, the last."""


def validation(name: str) -> Any:
    case = build(name)
    torch.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.TorchLensWarning)
        return tl.validation(case.model, case.args)


@pytest.mark.parametrize("network", BUILDERS)
def test_the_unmutated_twin_passes(network: str) -> None:
    status = validation(network)
    assert status.passed, status.failure and status.failure.summary()
    edges = status.perturbed_parent_count + status.exempted_parent_count
    assert edges > 5
    assert status.exempted_parent_count <= 0.02 * edges, status.exemptions()


def candidates(network: str, mutation: str) -> list[int]:
    mutate, can = MUTATIONS[mutation]
    spoiler = Spoiler(mutate=mutate, can=can, at=None)
    with spoiling(spoiler):
        assert validation(network).passed
    return spoiler.candidates


@pytest.mark.parametrize("network", BUILDERS)
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_is_found_where_it_is(network: str, mutation: str) -> None:
    possible = candidates(network, mutation)
    if not possible:
        assert network in WITHOUT[mutation]
        return
    mutate, can = MUTATIONS[mutation]
    spoiled = 0
    for at in dict.fromkeys(possible[int(share * len(possible))] for share in SHARE):
        spoiler = Spoiler(mutate=mutate, can=can, at=at)
        with spoiling(spoiler):
            status = validation(network)
        if spoiler.done is None:
            continue
        spoiled += 1
        assert status.state == "failed", f"op {at}"
        failure = tl.last_validation_failure()
        assert failure is not None
        labels = [row.op_label for row in status.decisions]
        assert failure.op_label == labels[at], failure.summary()
    assert spoiled


HIDDEN = {
    "mlp": "sigmoid", "residual": "max_pool2d", "recurrent": "tanh", "attention": "layer_norm", "language": "softmax",
    "skip": "gelu", "mixer": "layer_norm", "stochastic": "tanh", "writer": "cumsum", "multiple": "exp",
}  # fmt: skip


@pytest.mark.parametrize("network", BUILDERS)
def test_a_hidden_op_is_found_where_its_value_is_first_read(network: str) -> None:
    met: list[str] = []
    with hiding(HIDDEN[network], 1, met):
        status = validation(network)
    assert met
    assert status.state == "failed"
    failure = status.failure
    assert failure is not None
    assert failure.check in {"source_provenance", "bfs_completeness"}
    assert "unseen_source" in failure.extra["reasons"]
    assert failure.func_name == "constant"


def test_a_hidden_view_is_found_where_it_is_read() -> None:
    met: list[str] = []
    with hiding("transpose", 1, met):
        status = validation("language")
    assert met
    assert status.failure is not None
    assert status.failure.check == "source_provenance"
    assert status.failure.extra["reasons"] == ["unseen_source"]
    assert status.failure.func_name == "linear"  # whose memory it is


def test_a_hidden_write_is_found() -> None:
    met: list[str] = []
    with hiding("mul_", 1, met):
        status = validation("writer")
    assert met
    assert status.failure is not None
    assert status.failure.check == "source_provenance"
    assert status.failure.extra["reasons"] == ["unseen_write"]
