"""The manifest of a bundle: what is in it, who wrote it, and how to tell that nothing has changed.

The last key of the file is the SHA-256 of all bytes before it, so that the manifest vouches for itself and, through
the digests of the other files, for the whole bundle.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Literal, get_args

import msgspec

FORMAT = "tlspec"
FORMAT_VERSION = 1
"""Raised whenever an older reader would misread a newer bundle."""

Level = Literal["audit", "portable", "executable_with_callables"]
"""What a bundle holds: facts alone; the saved values too; also all that a call needs to run again."""
LEVELS: tuple[Level, ...] = get_args(Level)
EXECUTABLE: Level = "executable_with_callables"

_TAIL = re.compile(rb',\n"manifest_sha256":"([0-9a-f]{64})"\}\n')
_TAIL_LENGTH = len(',\n"manifest_sha256":""}\n') + 64

Count = Annotated[int, msgspec.Meta(ge=0)]
FileName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,80}\Z")]
"""A plain name, so that no bundle can point outside its own directory."""
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class FileEntry(msgspec.Struct, kw_only=True):
    """One file of the bundle."""

    name: FileName
    role: Literal["tables", "payloads"]
    size: Count
    sha256: Digest
    header_sha256: Digest | None = None
    """Digest of the header of a payload file, which is read first and alone."""


class Counts(msgspec.Struct, kw_only=True):
    """How much the bundle holds."""

    ops: Count
    calls: Count
    module_calls: Count
    modules: Count
    params: Count
    buffers: Count
    payloads: Count
    """Distinct saved values."""
    payload_bytes: Count
    """Bytes of the file that holds them."""


class Manifest(msgspec.Struct, kw_only=True):
    """Everything that can be known of a bundle without reading its tables."""

    format: Literal["tlspec"] = FORMAT
    format_version: int = FORMAT_VERSION
    level: Level
    created_at: str
    """UTC time in ISO 8601."""
    python_version: str
    packages: dict[str, str]
    """Version of each distribution that had a part in it."""
    backend: str
    framework_version: str
    trace: str
    model_class_name: str
    outcome: str
    counts: Counts
    files: list[FileEntry]

    def file(self, role: Literal["tables", "payloads"]) -> FileEntry | None:
        """Return the file that plays `role`, if there is one."""
        return next((entry for entry in self.files if entry.role == role), None)


class ManifestHead(msgspec.Struct):
    """What tells a foreign or newer manifest from a damaged one."""

    format: str = ""
    format_version: int = 0
    packages: dict[str, str] = {}
    tlspec_version: int | None = None
    """Written by releases before 3, which used another format."""


class ManifestDamagedError(ValueError):
    """A manifest whose bytes are not the ones that were written."""


def encode_manifest(manifest: Manifest) -> bytes:
    """Readable JSON with the digest at its end."""
    body = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    body = body.rstrip().removesuffix(b"}").rstrip()
    digest = hashlib.sha256(body).hexdigest()
    return body + f',\n"manifest_sha256":"{digest}"}}\n'.encode()


def decode_manifest_head(text: bytes) -> ManifestHead:
    """Read what every version of the format has in common.

    Raises:
        ManifestDamagedError: it is not even JSON.
    """
    try:
        return msgspec.json.decode(text, type=ManifestHead)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ManifestDamagedError(str(error)) from None


def decode_manifest(text: bytes) -> Manifest:
    """Check and read a manifest of this version.

    Raises:
        ManifestDamagedError: cut, changed, or not of this shape.
    """
    tail = _TAIL.fullmatch(text, max(len(text) - _TAIL_LENGTH, 0))
    if tail is None:
        raise ManifestDamagedError("it does not end with its checksum")
    if hashlib.sha256(text[: tail.start()]).hexdigest() != tail.group(1).decode():
        raise ManifestDamagedError("its checksum does not match")
    try:
        return msgspec.json.decode(text, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ManifestDamagedError(str(error)) from None
