"""The collector is left as it was found."""

from __future__ import annotations

import gc

import pytest

from tl_core import collector_paused


@pytest.mark.parametrize("running", [True, False])
def test_the_collector_is_left_as_it_was(running):
    before = gc.isenabled()
    (gc.enable if running else gc.disable)()
    try:
        with pytest.raises(KeyError):
            _fail_while_paused()
        assert gc.isenabled() is running
    finally:
        (gc.enable if before else gc.disable)()


def _fail_while_paused():
    with collector_paused():
        assert not gc.isenabled()
        raise KeyError
