"""What installed distributions require of each other, and whether what is installed fits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import final

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*\(?([^;)]*)\)?\s*(?:;\s*(.*))?$")
_CLAUSE = re.compile(r"\s*(===|==|!=|~=|<=|>=|<|>)\s*([^\s,]+)\s*$")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_RELEASE = re.compile(r"(?:\d+!)?v?(\d+(?:\.\d+)*)")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One line of what a distribution requires."""

    name: str
    """The distribution that is required, in lower case with hyphens."""
    extras: tuple[str, ...]
    """Extras of it that are required."""
    range: str
    """Versions that fit, such as `>=0.1,<0.2`; empty where all do."""
    extra: str
    """The extra of the requiring distribution that this belongs to; empty where it is always required."""
    conditional: bool
    """Whether it holds on some machines only."""


def normal_name(name: str) -> str:
    """A distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_version(name: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def requirements(distribution: str) -> list[Requirement]:
    """What an installed distribution requires; nothing for one that is not installed."""
    try:
        lines = requires(distribution) or []
    except PackageNotFoundError:
        return []
    return [parsed for line in lines if (parsed := parse(line)) is not None]


def parse(line: str) -> Requirement | None:
    """Read one line of a distribution's requirements, or None where it has another form."""
    found = _REQUIREMENT.match(line)
    if found is None:
        return None
    name, extras, wanted, marker = found.groups()
    extra = _EXTRA.search(marker or "")
    rest = _EXTRA.sub("", marker or "").strip(" ()")
    return Requirement(
        name=normal_name(name),
        extras=tuple(part.strip() for part in (extras or "").split(",") if part.strip()),
        range=wanted.strip(),
        extra=extra.group(1) if extra else "",
        conditional=bool(rest),
    )


def _release(text: str) -> list[int]:
    found = _RELEASE.match(text)
    numbers = [int(part) for part in found.group(1).split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def fits(installed: str, wanted: str) -> bool:
    """Whether a version lies in a range; only the numbers of the release count.

    Example:
        >>> fits("0.1.4", ">=0.1,<0.2"), fits("0.2.0rc1", ">=0.1,<0.2")
        (True, False)
    """
    return all(_clause_fits(installed, clause) for clause in wanted.split(",") if clause.strip())


def _clause_fits(installed: str, clause: str) -> bool:
    found = _CLAUSE.match(clause)
    if found is None:
        return True  # a form that cannot be judged is not held against the installation
    sign, bound = found.groups()
    have, want = _release(installed), _release(bound)
    if sign in {"==", "===", "!="}:
        same = _starts_with(have, bound) if bound.endswith(".*") else have == want
        return same is not (sign == "!=")
    if sign == "~=":
        return have >= want and _starts_with(have, bound.rpartition(".")[0] + ".*")
    return {"<": have < want, "<=": have <= want, ">": have > want, ">=": have >= want}[sign]


def _starts_with(have: list[int], pattern: str) -> bool:
    wanted = [int(part) for part in pattern.removesuffix(".*").split(".") if part.isdigit()]
    padded = have + [0] * (len(wanted) - len(have))
    return padded[: len(wanted)] == wanted
