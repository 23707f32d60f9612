"""Sixty networks are traced without an error or a warning, and are afterwards what one plain forward leaves."""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers
from leftovers import ModelState, same_bits
from networks import NETWORKS, WITHDRAWN, Network
from oracle import Key, Oracle, fingerprint
from recipes import Case, build

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN_SEED = 11


def gradients(network: Network) -> contextlib.AbstractContextManager[object]:
    """Half of the networks run with gradients and half without."""
    return torch.set_grad_enabled(network.values or network.mode == "train")


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Start all generators from the same place."""
    torch.manual_seed(RUN_SEED)
    random.seed(RUN_SEED)
    np.random.seed(RUN_SEED)
    yield


def generators() -> tuple[object, ...]:
    """Return the state of all generators."""
    state = np.random.get_state()
    return torch.get_rng_state().tolist(), random.getstate(), state[1].tolist(), state[2]


def run_plainly(network: Network, case: Case) -> object:
    with seeded(), gradients(network), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning of the network's own
        return case.model(*case.args, **case.kwargs)


def run_traced(network: Network, case: Case) -> tuple[Any, list[str]]:
    """Trace a network, and return also the warnings beyond those of its own plain forward."""
    with seeded(), gradients(network), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = tl.trace(case.model, case.args, case.kwargs)
    return trace, [f"{w.category.__name__}: {w.message}" for w in caught]


def own_warnings(network: Network, case: Case) -> list[str]:
    with seeded(), gradients(network), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case.model(*case.args, **case.kwargs)
    return [f"{w.category.__name__}: {w.message}" for w in caught]


def tensors(structure: object) -> list[torch.Tensor]:
    """Return the tensors of a returned structure, in order; model outputs are mappings, caches are objects."""
    if isinstance(structure, torch.Tensor):
        return [structure]
    if isinstance(structure, dict):
        return [tensor for value in structure.values() for tensor in tensors(value)]
    if isinstance(structure, (list, tuple)):
        return [tensor for value in structure for tensor in tensors(value)]
    if type(structure).__module__.startswith(("transformers", "torchvision")) and not isinstance(
        structure, (torch.nn.Module, transformers.PretrainedConfig)
    ):
        return tensors(vars(structure))
    return []


def test_the_list_keeps_its_promises() -> None:
    assert len(NETWORKS) + len(WITHDRAWN) == 60
    assert len({network.name for network in NETWORKS}) == len(NETWORKS)
    assert sum(network.mode == "train" for network in NETWORKS) >= 15
    assert sum(network.values for network in NETWORKS) >= 30


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_network(network: Network) -> None:
    plain, traced = build(network), build(network)
    before = ModelState.of(traced.model)
    output = run_plainly(network, plain)
    plain_generators = generators()
    plain_changes = {change for change in ModelState.of(plain.model).differences(before) if change.endswith(": value")}

    trace, caught = run_traced(network, traced)
    assert generators() == plain_generators
    assert trace.outcome == "complete"
    assert trace.capture_verified is True, trace.capture_verification_reason
    if caught:
        assert caught == own_warnings(network, build(network))

    changes = ModelState.of(traced.model).differences(before)
    assert {change for change in changes if change.endswith(": value")} == plain_changes
    same_state(plain.model, traced.model)
    assert {fingerprint(op.out) for op in trace.outputs} == {fingerprint(t) for t in tensors(output)}
    check_graph(trace)


def same_state(plain: torch.nn.Module, traced: torch.nn.Module) -> None:
    """Parameters, buffers, flags and attributes have to be those of the plain run."""
    for (name, value), other in zip(traced.state_dict().items(), plain.state_dict().values(), strict=True):
        assert same_bits(value, other), name
    for (name, module), other in zip(traced.named_modules(), plain.modules(), strict=True):
        assert vars(module).keys() == vars(other).keys(), name
        assert module.training == other.training, name
        assert len(module._forward_hooks) == len(other._forward_hooks), name
        assert len(module._forward_pre_hooks) == len(other._forward_pre_hooks), name
        simple = (bool, int, float, str, type(None))
        for attribute, value in vars(module).items():
            if isinstance(value, simple):
                assert value == vars(other)[attribute], f"{name}.{attribute}"


def check_graph(trace: Any) -> None:
    """Every parent comes earlier, labels are unique, and every table can be read."""
    place = {op.label: op.index for op in trace.ops}
    assert len(place) == len(trace.ops)
    for op in trace.ops:
        assert all(place[parent] < op.index for parent in op.parents)
        assert all(op.label in trace[parent].children for parent in op.parents)
        assert (op.shape, op.dtype) == (
            tuple(op.out.shape),
            str(op.out.dtype).rpartition(".")[2],
        )
    assert trace.summary()
    assert len(trace.layers) <= len(trace.ops)


VALUED = [network for network in NETWORKS if network.values]


@pytest.mark.parametrize("network", VALUED, ids=lambda network: network.name)
def test_every_value(network: Network) -> None:
    watched, hooked, traced = build(network), build(network), build(network)
    oracle = Oracle()
    known = given_values(watched)
    with oracle:
        run_plainly(network, watched)
    known |= given_values(watched)  # buffers after the run
    trace, _ = run_traced(network, traced)
    check_ops(trace, oracle, known)
    check_modules(trace, hooked, network)


def given_values(case: Case) -> set[Key]:
    """Return the fingerprints of what exists without being computed: inputs, parameters, buffers, held tensors."""
    held = [*case.model.parameters(), *case.model.buffers(), *tensors([case.args, case.kwargs])]
    for module in case.model.modules():
        for value in vars(module).values():
            held += tensors(value)
    return {fingerprint(tensor) for tensor in held}


def check_ops(trace: Any, oracle: Oracle, known: set[Key]) -> None:
    """Each op has to have a value that the oracle saw, and not earlier than the op before it."""
    now = 0
    by_label: dict[str, Key] = {}
    compared = 0
    for op in trace.ops:
        value = by_label[op.label] = fingerprint(op.out)
        if op.kind in {"input", "buffer", "constant"}:
            assert value in known or value in oracle.moments, op.label
            continue
        returns_its_argument = any(by_label[parent] == value for parent in op.parents)
        if returns_its_argument or op.kind == "output" or (op.params and value in known):
            # Nothing is dispatched when a function returns its own argument.
            assert value in oracle.moments or value in known, op.label
            continue
        if "empty" in op.func_name:
            continue  # no run agrees with another on what unwritten memory holds
        seen = oracle.first_from(value, now)
        assert seen is not None, f"{op.label} {op.shape} after {now} of {oracle.clock} calls"
        now = seen
        compared += 1
    assert compared > 10


def check_modules(trace: Any, case: Case, network: Network) -> None:
    """Plain hooks see what module calls return."""
    seen: dict[str, list[list[Key]]] = {}

    def watch(name: str) -> object:
        def hook(module: torch.nn.Module, args: object, output: object) -> None:
            seen.setdefault(name, []).append([fingerprint(t) for t in tensors(output)])

        return hook

    handles = [module.register_forward_hook(watch(name)) for name, module in case.model.named_modules()]
    run_plainly(network, copy.copy(case))
    for handle in handles:
        handle.remove()
    for name, calls in seen.items():
        recorded = [call for call in trace.modules[name].calls if call.method == "forward"]
        assert len(recorded) == len(calls), name
        for call, expected in zip(recorded, calls, strict=True):
            found = {fingerprint(op.out) for op in call.outputs}
            if any(op.is_inplace for op in call.outputs):
                continue  # written through a view: the value is spread over a base and its writers
            assert found == set(expected), name
