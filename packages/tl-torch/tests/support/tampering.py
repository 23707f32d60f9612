"""Bundles changed behind their back: with their digests left as they were, or made anew."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

import msgspec

from tl_core._manifest import decode_manifest, encode_manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def regions(bundle: Path) -> dict[str, tuple[int, int]]:
    """First byte and one past the last of each value in the payload file, by name."""
    content = (bundle / "payloads.safetensors").read_bytes()
    start = int.from_bytes(content[:8], "little") + 8
    header = json.loads(content[8:start])
    header.pop("__metadata__")
    return {
        name: (start + entry["data_offsets"][0], start + entry["data_offsets"][1]) for name, entry in header.items()
    }


def change_bytes(bundle: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of a value and nothing else."""
    path = bundle / "payloads.safetensors"
    content = bytearray(path.read_bytes())
    first, stop = regions(bundle)[name]
    content[first:stop] = change(bytes(content[first:stop]))
    path.write_bytes(content)


def change_tables(bundle: Path, change: Callable[[Any], None]) -> None:
    """Change the tables, and make every digest anew."""
    path = bundle / "tables.json"
    tables = msgspec.json.decode(path.read_bytes())
    change(tables)
    path.write_bytes(msgspec.json.encode(tables))
    _vouch(bundle)


def forge(bundle: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a value, and make every checksum and digest anew."""
    change_bytes(bundle, name, change)
    content = (bundle / "payloads.safetensors").read_bytes()
    spans = sorted(regions(bundle).values())
    checksums = [zlib.crc32(content[first:stop]) for first, stop in spans]
    change_tables(bundle, lambda tables: tables["payloads"].update(checksum=checksums))


def _vouch(bundle: Path) -> None:
    manifest = decode_manifest((bundle / "manifest.json").read_bytes())
    for entry in manifest.files:
        content = (bundle / entry.name).read_bytes()
        entry.size = len(content)
        entry.sha256 = hashlib.sha256(content).hexdigest()
    (bundle / "manifest.json").write_bytes(encode_manifest(manifest))
