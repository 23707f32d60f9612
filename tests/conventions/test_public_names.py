"""The public names of every distribution are frozen in `api/`."""

from __future__ import annotations

import pytest

import torchlens
from public_names import API, distributions, exported, frozen

ROOT_NAME_BUDGET = 90


@pytest.mark.parametrize("distribution", distributions())
def test_public_names_are_the_frozen_ones(distribution: str) -> None:
    added = sorted(set(exported(distribution)) - set(frozen(distribution)))
    removed = sorted(set(frozen(distribution)) - set(exported(distribution)))
    assert (added, removed) == ([], []), "on purpose? then run: python tools/public_names.py"


def test_no_list_of_a_distribution_that_is_gone() -> None:
    assert sorted(path.stem for path in API.glob("*.txt")) == distributions()


@pytest.mark.parametrize("distribution", distributions())
def test_all_names_no_name_twice(distribution: str) -> None:
    names = exported(distribution)
    assert len(names) == len(set(names))


def test_the_root_namespace_stays_small() -> None:
    assert len(torchlens.__all__) <= ROOT_NAME_BUDGET
