"""Calls of the doctor that do not fit are refused in words."""

from __future__ import annotations

import pytest

import tl_core
from tl_doctor import doctor


def test_an_unknown_option_is_refused_as_everywhere() -> None:
    with pytest.raises(tl_core.ArgumentTypeError) as caught:
        doctor(unknown=3)
    assert caught.value.code == "unknown_option"
    assert str(caught.value).splitlines()[0] == "tl.report.doctor has no option 'unknown'."
    assert caught.value.remedy == "it takes model, inputs"


def test_a_surplus_argument_is_refused_as_everywhere() -> None:
    with pytest.raises(tl_core.ArgumentTypeError, match="takes at most 2 arguments by position"):
        doctor(None, None, None)
