"""Reading a bundle back into a trace."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import msgspec

from tl_core._backend import HostArray, backend
from tl_core._bundle_columns import Tables
from tl_core._bundle_decode import TableError, decode_payloads, decode_records, payload_getter
from tl_core._bundle_file import (
    COPY_AGAIN,
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    bundle_path,
    check_digest,
    check_flag,
    open_entry,
    open_file,
    read_entry,
    refusing,
)
from tl_core._bundle_template import StructValue, TemplateDecoder
from tl_core._errors import ArgumentTypeError, ArtifactError, TorchLensError
from tl_core._manifest import (
    FORMAT,
    FORMAT_VERSION,
    FileEntry,
    Manifest,
    ManifestDamagedError,
    decode_manifest,
    decode_manifest_head,
)
from tl_core._payload import LazyPayload, PayloadFile
from tl_core._record import Opaque
from tl_core._safetensors import HeaderError, decode_header, header_length
from tl_core._signature import fitting
from tl_core._trace import Trace, TraceInfo

if TYPE_CHECKING:
    from collections.abc import Sequence


@fitting("tl.load")
def load(path: str | os.PathLike[str], *, lazy: bool = True, map_location: str | None = None) -> Trace:
    """Read a bundle that `Trace.save` wrote.

    Args:
        path: the bundle, a directory.
        lazy: leave the saved values on disk until each is asked for; False reads and checks all of them now.
        map_location: device for all saved values, such as `"cpu"`; None puts each where it was.

    Returns:
        The trace, with the same labels as when it was saved.

    Raises:
        ConfigurationError: an empty path.
        ArgumentTypeError: an argument that is no path, no truth value or no device.
        ArtifactError: no bundle, a foreign or newer one, or one that is cut or changed; the message names the file.

    Example:
        >>> import tempfile, torch
        >>> import tl_torch as tl
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4)).save(f"{folder.name}/linear.tlspec")
        >>> run = load(path)
        >>> run["linear_1_1"].ops[0].payload.location
        'disk'
        >>> run["linear_1_1"].ops[0].out.shape
        torch.Size([3, 2])
        >>> folder.cleanup()
    """
    directory = bundle_path(path, "tl.load")
    check_flag("tl.load(lazy", lazy, "tl.load(path, lazy=False) reads all values now")
    _check_location(map_location)
    text = _read_manifest(directory)
    try:
        return _load(directory, text, lazy=lazy, map_location=map_location)
    except ArtifactError as error:
        if error.code not in {"file_missing", "file_altered", "file_truncated"}:
            raise
        newer = _read_manifest(directory)
        if newer == text:
            raise
    return _load(directory, newer, lazy=lazy, map_location=map_location)  # it was replaced meanwhile


def _check_location(value: object) -> None:
    """Refuse what names no single device that holds values; frameworks' own device objects pass."""
    what, shown = "", repr(value)
    if isinstance(value, (bool, int, float, bytes, Collection)) and not isinstance(value, str):
        what = "the name of one device is meant"
    elif callable(value):
        what = "the name of one device is meant, and not a function"
    elif value is not None and not str(value).strip():
        what = "it names no device"
    elif str(value).partition(":")[0] == "meta":
        what = "values on this device are lost"
    if what:
        raise ArgumentTypeError(
            f"tl.load(map_location={shown}): {what}.",
            code="map_location_invalid",
            remedy="tl.load(path, map_location='cpu'); tl.load(path) puts each value where it was",
            given=shown,
        )


def _load(directory: str, text: bytes, *, lazy: bool, map_location: str | None) -> Trace:
    manifest = _understand(os.path.join(directory, MANIFEST_NAME), text)
    tables_entry = manifest.file("tables")
    if tables_entry is None:
        raise _damaged(os.path.join(directory, MANIFEST_NAME), "it lists no tables")
    content = read_entry(directory, tables_entry)
    payload_entry = manifest.file("payloads")
    tables_path = os.path.join(directory, tables_entry.name)
    try:
        tables = msgspec.json.decode(content, type=Tables)
        file = None
        if payload_entry is not None:
            file = _open_payloads(directory, payload_entry, tables.payloads.checksum, whole=not lazy)
        lazily = decode_payloads(tables, file, manifest.backend, map_location)
        _check_devices(lazily, manifest.backend)
        payloads: Sequence[object] = lazily if lazy else [payload.materialize() for payload in lazily]
        records = decode_records(tables, payloads)
        decoder = TemplateDecoder(records.ops, records.params, payload_getter(payloads))
        trace = Trace(records, _decode_info(tables, decoder, manifest.level))
        trace.annotations.update({name: decoder.decode(value) for name, value in tables.annotations.items()})
    except TorchLensError:
        raise
    except (ValueError, IndexError, TypeError, RecursionError, OverflowError, AssertionError) as error:
        raise _damaged(tables_path, str(error) or type(error).__name__) from error
    return trace


def _read_manifest(directory: str) -> bytes:
    path = os.path.join(directory, MANIFEST_NAME)
    if not os.path.isdir(directory):
        if os.path.lexists(directory):
            raise _foreign(directory, "is no directory")
        raise ArtifactError(
            f"There is no bundle {directory}.",
            code="manifest_missing",
            remedy="check the path; trace.save(path) makes a bundle",
            path=directory,
        )
    try:
        descriptor, size = open_file(path)
    except ArtifactError as error:
        if error.code != "file_missing":
            raise
        raise ArtifactError(
            f"{directory} has no {MANIFEST_NAME}: it is no bundle, or a part of one.",
            code="manifest_missing",
            remedy=COPY_AGAIN,
            file=path,
        ) from None
    with os.fdopen(descriptor, "rb") as file, refusing("read", path):
        if size > MAX_MANIFEST_BYTES:
            raise _foreign(path, f"has {size} bytes, too many for a manifest")
        return file.read(MAX_MANIFEST_BYTES)


def _understand(path: str, text: bytes) -> Manifest:
    """Tell a foreign manifest from a newer one, from a damaged one, from a good one."""
    try:
        head = decode_manifest_head(text)
        if head.format != FORMAT:
            if head.tlspec_version is not None:
                raise _foreign(path, f"is of the older format {head.tlspec_version}, which holds pickled objects")
            raise _foreign(path, "belongs to something else")
        if head.format_version > FORMAT_VERSION:
            writer = ", ".join(f"{name} {version}" for name, version in head.packages.items())
            raise ArtifactError(
                f"{path} is of format {head.format_version}, and this tl-core reads up to {FORMAT_VERSION} "
                f"(written by {writer or 'a newer release'}).",
                code="bundle_newer",
                remedy="pip install -U tl-core",
                file=path,
                expected=FORMAT_VERSION,
                found=head.format_version,
            )
        return decode_manifest(text)
    except ManifestDamagedError as error:
        raise _damaged(path, str(error), "manifest_unreadable") from None


def _foreign(path: str, what: str) -> ArtifactError:
    return ArtifactError(
        f"{path} {what}, so it cannot be loaded.",
        code="bundle_foreign",
        remedy="trace the model again and save it with trace.save(path)",
        path=path,
    )


def _damaged(path: str, what: str, code: str = "tables_unreadable") -> ArtifactError:
    return ArtifactError(f"{path} cannot be read: {what}.", code=code, remedy=COPY_AGAIN, file=path)


def _open_payloads(directory: str, entry: FileEntry, checksums: list[int], *, whole: bool) -> PayloadFile:
    """Open the saved values and check their header; with `whole`, every byte."""
    path = os.path.join(directory, entry.name)
    descriptor = open_entry(directory, entry)
    file = PayloadFile(path, descriptor)
    with refusing("read", path), open(descriptor, "rb", closefd=False) as opened:
        try:
            length = header_length(opened.read(8), entry.size)
            opened.seek(0)
            header = opened.read(length)
            check_digest(path, hashlib.sha256(header).hexdigest(), entry.header_sha256 or "")
            file.list_regions(length, decode_header(header, entry.size), checksums)
        except HeaderError as error:
            raise _damaged(path, str(error), "file_altered") from None
        if whole:
            opened.seek(0)
            check_digest(path, hashlib.file_digest(opened, "sha256").hexdigest(), entry.sha256)
    return file


def _check_devices(payloads: Sequence[LazyPayload], backend_name: str) -> None:
    """Refuse now, rather than at the first value, when a device is not there."""
    for device in {payload.device for payload in payloads} - {"cpu"}:
        probe = HostArray(dtype="float32", shape=(0,), data=memoryview(b""))
        try:
            backend(backend_name).from_host(probe, device)
        except (RuntimeError, ValueError, AssertionError) as error:  # what frameworks raise for a device
            if isinstance(error, TorchLensError):
                raise
            raise ArtifactError(
                f"The saved values belong on {device!r}, which is not there: {str(error).splitlines()[0]}",
                code="device_unavailable",
                remedy="tl.load(path, map_location='cpu')",
                device=device,
            ) from error


def _decode_info(tables: Tables, decoder: TemplateDecoder, level: str) -> TraceInfo:
    """Facts about the run; a field that this release does not know is left out."""
    facts: dict[str, Any] = {"loaded": True, "groups": _groups(tables), "level": level}
    hints = get_type_hints(TraceInfo)
    for field in fields(TraceInfo):
        if field.name not in facts and field.name in tables.info:
            value = decoder.decode(tables.info[field.name])
            hint = hints[field.name]
            facts[field.name] = value if hint is object else msgspec.convert(_plain(value), hint)
    return TraceInfo(**facts)


def _plain(value: object) -> object:
    """Value with its dataclasses as dictionaries; fields that no bundle can hold keep their defaults."""
    if isinstance(value, StructValue):
        return {name: _plain(part) for name, part in value.fields.items() if not isinstance(part, Opaque)}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in cast("Sequence[object]", value)]
    return value


def _groups(tables: Tables) -> tuple[tuple[int, int], ...] | None:
    """Layer and pass of each op: layers in the order of their first op, passes of each layer counted from 1."""
    if tables.layer is None or tables.layer_pass is None:
        return None
    groups = tuple(zip(tables.layer, tables.layer_pass, strict=True))
    passes: list[int] = []
    for layer, number in groups:
        if layer == len(passes):
            passes.append(0)
        if layer > len(passes) or number != passes[layer] + 1:
            raise TableError(f"pass {number} of layer {layer} is out of order")
        passes[layer] = number
    if len(groups) != len(tables.ops.kind):
        raise TableError(f"{len(groups)} ops have layers, of {len(tables.ops.kind)}")
    return groups
