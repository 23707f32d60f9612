"""The networks and their oracle are modules of this folder; the table of exemptions is printed at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print, for each network that was validated, which of its edges did not have to answer."""
    tables = [
        (report.nodeid.rpartition("[")[2].rstrip("]"), dict(report.user_properties)["exemptions"])
        for report in terminalreporter.getreports("passed")
        if any(name == "exemptions" for name, _ in report.user_properties)
    ]
    if tables:
        terminalreporter.section("edges exempt from perturbation")
        for name, table in tables:
            terminalreporter.write_line(f"{name}: {table}")
