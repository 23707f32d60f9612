"""What every test of this package shares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Appended, so that a module of the same name in the tests of another package keeps its place.
sys.path.append(str(Path(__file__).parent / "support"))

COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("ci", derandomize=True, **COMMON)
settings.register_profile("explore", derandomize=False, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
