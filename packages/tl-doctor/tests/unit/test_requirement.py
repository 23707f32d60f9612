"""Requirements as metadata writes them, and versions against ranges."""

from __future__ import annotations

import pytest

from tl_doctor._requirement import Requirement, fits, parse


@pytest.mark.parametrize(
    ("installed", "wanted", "answer"),
    [
        ("0.1.0", ">=0.1,<0.2", True),
        ("0.1", ">=0.1.0", True),
        ("0.2.0", "<0.2", False),
        ("0.2.0rc1", "<0.2", False),
        ("2.15.0+cu132", ">=2.4", True),
        ("2.10", ">=2.9", True),
        ("1.4.5", "~=1.4.2", True),
        ("1.5.0", "~=1.4.2", False),
        ("2.4.1", "==2.4.*", True),
        ("2.5.1", "==2.4.*", False),
        ("2", "==2.0.*", True),
        ("1.0", "!=1.0.0", False),
        ("1.1", "!=1.0.*", True),
        ("3.0", ">3", False),
        ("3.0", "<=3", True),
        ("1.0", "", True),
    ],
)
def test_versions_against_ranges(installed: str, wanted: str, answer: bool) -> None:
    assert fits(installed, wanted) is answer


def test_an_extra_a_marker_and_extras_of_the_needed() -> None:
    line = "TL_Viz[dot, png] (>=0.1,<0.2) ; python_version >= '3.12' and extra == 'viz'"
    expected = Requirement(name="tl-viz", extras=("dot", "png"), range=">=0.1,<0.2", extra="viz", conditional=True)
    assert parse(line) == expected
    assert parse("numpy") == Requirement(name="numpy", extras=(), range="", extra="", conditional=False)
