"""Which public functions of torch have no formula: a list that may only become shorter."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch.overrides import get_overridable_functions

from tl_torch._cost import _find

LIST = Path(__file__).parent / "flops_missing.txt"
NAMESPACES = {
    torch: "torch",
    torch.functional: "torch",
    torch.nn.functional: "torch.nn.functional",
    torch.Tensor: "torch.Tensor",
    torch.linalg: "torch",
    torch.fft: "torch",
    torch.special: "torch",
}


def functions() -> set[str]:
    """Qualified names of everything that a function mode can see in these namespaces."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = get_overridable_functions()
    return {
        f"{NAMESPACES[namespace]}.{function.__name__}"
        for namespace, members in found.items()
        if namespace in NAMESPACES
        for function in members
    }


def listed() -> set[str]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def missing() -> set[str]:
    return {name for name in functions() if _find(name.rpartition(".")[2]) is None}


def test_no_function_lacks_a_formula_but_those_listed() -> None:
    assert sorted(missing() - listed()) == [], f"add a formula, or a line to {LIST.name} with a reason"


def test_the_list_holds_nothing_that_has_a_formula() -> None:
    stale = listed() & functions() - missing()
    assert sorted(stale) == [], f"these have a formula now: take them off {LIST.name}"


def test_every_line_is_in_order_and_gives_a_reason_by_its_section() -> None:
    names: list[str] = []
    section = ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            assert names == sorted(names), section
            section, names = line, []
        elif line:
            assert section
            names.append(line)
    assert names == sorted(names), section


@pytest.mark.parametrize(
    "name",
    [
        "linear",
        "conv3d",
        "einsum",
        "scaled_dot_product_attention",
        "layer_norm",
        "lstm",
        "gru_cell",
        "fft_rfft",
        "add_",
    ],
)
def test_the_check_sees_formulas(name: str) -> None:
    assert _find(name) is not None
