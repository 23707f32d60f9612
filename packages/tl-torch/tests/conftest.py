"""What every test of this package shares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "support"))

from leftovers import TorchState  # noqa: E402 - the folder has to be on the path first

COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("ci", derandomize=True, **COMMON)
settings.register_profile("explore", derandomize=False, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

torch.set_num_threads(1)
REBOUND_BY_THE_COMPILER = {"torch.manual_seed", "Module.__init__", "Module.__setstate__"}
"""Names that torch rebinds by itself when its compiler is imported or first used."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the sixty networks to the run that names them: they need more libraries and minutes."""
    networks = HERE / "networks"
    if networks not in (collection_path, *collection_path.parents):
        return None
    named = [Path(str(argument).split("::")[0]).resolve() for argument in config.args]
    return None if any(path == networks or networks in path.parents for path in named) else True


@pytest.fixture(autouse=True)
def nothing_left_behind() -> object:
    """Every test, whatever it did to a trace, must end with torch as it was."""
    torch.manual_seed(0)
    before = TorchState.now()
    yield
    left = TorchState.now().differences(before)
    if "torch._dynamo" in sys.modules:
        left = [name for name in left if name not in REBOUND_BY_THE_COMPILER]
    assert left == []
