"""What is claimed is tested: each claim leads to tests that are there and run, or to a reason why it has none."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from claims_table import CASES, ENTRIES, NAMES, ROUTES_OF_CALLS, Claim

ROOT = Path(__file__).parents[2]
CLAIMS = {
    **{f"case {number}": claim for number, claim in CASES.items()},
    **{claim.what: claim for claim in (*ROUTES_OF_CALLS, *ENTRIES)},
}


def path_of(test: str) -> Path:
    package, _, rest = test.partition("/")
    return ROOT / "packages" / package / "tests" / rest.partition("::")[0]


@cache
def collected() -> frozenset[str]:
    """Return the ids of the tests of all files that are named, without their parameters."""
    named = {test for claim in CLAIMS.values() for test in claim.tests} | set(NAMES.values())
    by_package: dict[str, set[str]] = {}
    for test in named:
        by_package.setdefault(test.partition("/")[0], set()).add(str(path_of(test)))
    found: set[str] = set()
    for package, files in by_package.items():  # apart: their support folders hold modules of equal names
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *sorted(files)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        for line in done.stdout.splitlines():
            if "::" in line:
                file, _, name = re.sub(r"\[.*", "", line).partition("::")
                short = f"{package}/{file.partition('/tests/')[2]}::"
                found.update(short + part for part in (name, name.partition("::")[0]))
    return frozenset(found)


def test_every_case_is_there() -> None:
    assert [number for number in CASES if number.isdecimal()] == [str(number) for number in range(1, 41)]
    assert len(CASES) == 41


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_has_tests_or_a_reason(name: str) -> None:
    claim: Claim = CLAIMS[name]
    assert claim.tests or claim.reason
    assert [test for test in claim.tests if test not in collected()] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_in_the_test_that_meets_it(name: str) -> None:
    test = NAMES[name]
    assert test in collected()
    assert f'"{name}' in path_of(test).read_text(encoding="utf-8")
