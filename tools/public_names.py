"""The frozen public names: `python tools/public_names.py` rewrites `api/<distribution>.txt`.

Run it when a name is added or removed on purpose; the difference is then part of the review.
"""

from __future__ import annotations

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
API = ROOT / "api"


def distributions() -> list[str]:
    """Return the names of the workspace's distributions."""
    return sorted(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml"))


def exported(distribution: str) -> list[str]:
    """Return the public names of a distribution's import package, sorted."""
    module = importlib.import_module(distribution.replace("-", "_"))
    return sorted(module.__all__)


def frozen(distribution: str) -> list[str]:
    """Return the public names that `api/` promises for a distribution."""
    return (API / f"{distribution}.txt").read_text(encoding="utf-8").split()


def freeze() -> None:
    """Write the present public names of every distribution."""
    API.mkdir(exist_ok=True)
    for distribution in distributions():
        text = "".join(f"{name}\n" for name in exported(distribution))
        (API / f"{distribution}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    freeze()
