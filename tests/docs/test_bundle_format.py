"""The page on the bundle format names every file and every field, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from tl_core import _bundle_columns as columns
from tl_core import _bundle_template as template
from tl_core._bundle_aten import AtenColumns
from tl_core._manifest import Counts, FileEntry, Manifest

PAGE = (Path(__file__).parents[2] / "docs" / "bundle-format.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^##+ (.+?)\n(.*?)(?=^##+ |\Z)", PAGE, re.DOTALL | re.MULTILINE))
HELD = "module_calls, modules, params, buffers"
DESCRIBED = {
    "The manifest": (Manifest, Counts, FileEntry),
    "The tables": (columns.Tables,),
    "ops": (columns.OpColumns,),
    "calls": (columns.CallColumns,),
    HELD: (columns.ModuleCallColumns, columns.ModuleColumns, columns.ParamColumns, columns.BufferColumns),
    "reads, gaps": (columns.ReadColumns, columns.GapColumns),
    "aten": (AtenColumns,),
    "The saved values": (columns.PayloadColumns,),
}


def rows(section: str) -> set[str]:
    """Names in the first column of the section's tables, or anywhere in a row that lists the keys of an object."""
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("| `")]
    names = {name for line in lines for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    nested = {
        name for line in lines if line.startswith(("| `counts`", "| `files`")) for name in re.findall(r"`(\w+)`", line)
    }
    return names | nested


@pytest.mark.parametrize("section", DESCRIBED)
def test_every_field_has_its_row(section: str) -> None:
    fields = {field for struct in DESCRIBED[section] for field in struct.__struct_fields__}
    assert fields <= rows(section)


@pytest.mark.parametrize("section", DESCRIBED)
def test_no_row_is_about_a_field_that_is_not_there(section: str) -> None:
    fields = {field for struct in DESCRIBED[section] for field in struct.__struct_fields__}
    assert rows(section) - fields <= {"manifest_sha256", "tables", "payloads"}


def test_every_kind_of_argument_has_its_row() -> None:
    kinds = {
        kind.__struct_config__.tag: set(kind.__struct_fields__)
        for kind in get_args(template.Template)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    }
    told: dict[str, set[str]] = {}
    for line in SECTIONS["Values of arguments"].splitlines():
        if line.startswith("| `") and not line.startswith("| `is`"):
            _, tags, keys, *_ = line.split("|")
            told |= {tag: set(re.findall(r"`(\w+)`", keys)) for tag in re.findall(r"`(\w+)`", tags)}
    assert told == kinds


def test_the_codes_of_kinds_are_told_in_order() -> None:
    told = re.search(r"\| `kind` \| (0 input.*?) \|", SECTIONS["ops"])
    assert told is not None
    assert [part.split()[0] for part in told[1].split(", ")] == ["0", "1", "2", "3", "4"]
    assert columns.OP_KINDS == ("input", "buffer", "constant", "op", "output")
