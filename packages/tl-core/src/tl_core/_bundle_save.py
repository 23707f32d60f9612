"""Writing a trace to a bundle."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from tl_core._backend import backend, backend_entry_points
from tl_core._bundle_encode import TableEncoder, clean
from tl_core._bundle_file import refusing
from tl_core._bundle_plan import PayloadPlan, PlannedValue
from tl_core._bundle_stage import Stage, sync
from tl_core._errors import ArtifactError, BackendCapabilityConformanceError
from tl_core._manifest import LEVELS, Counts, FileEntry, Level, Manifest, encode_manifest
from tl_core._payload import LazyPayload
from tl_core._record import AliasRead
from tl_core._safetensors import HeaderError, TensorWriter, encode_header

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tl_core._backend import Backend
    from tl_core._bundle_columns import Tables
    from tl_core._record import CallRecord, Records
    from tl_core._trace import TraceInfo

_LATER_LEVELS = ("executable_with_callables", "runnable")


def save(
    records: Records,
    info: TraceInfo,
    path: str | os.PathLike[str],
    *,
    level: str = "portable",
    overwrite: bool = False,
    labels: Sequence[str] | None = None,
    annotations: Mapping[str, object] | None = None,
) -> Path:
    """Write a trace to the directory `path`.

    Args:
        records: what the run wrote down.
        info: facts about the run; its `groups`, where given, keep the labels as they are.
        path: the bundle, by custom `*.tlspec`; its parent directory exists.
        level: `"portable"` with the saved values, `"audit"` without.
        overwrite: replace a bundle that is there.
        labels: label of each op, under which other readers find its value.
        annotations: notes on the trace.

    Returns:
        The path of the bundle.

    Raises:
        ArtifactError: it was refused, or the disk is full; an older bundle is then as it was.
    """
    checked = check_level(level)
    with Stage(Path(path), overwrite=overwrite) as stage:
        plan = PayloadPlan(_framework(records, info) if checked == "portable" else None)
        if checked == "portable":
            _collect(records, plan, labels)
        stored, views = plan.arrange()
        files: list[FileEntry] = []
        checksums: list[int] = []
        if checked == "portable":
            entry, checksums = _write_payloads(stage, plan, stored, info)
            files.append(entry)
        index = plan.position if checked == "portable" else _no_payload
        encoder = TableEncoder(index)
        payloads = encoder.payloads(list(zip(plan.values, views, strict=True)), checksums)
        tables = encoder.encode(records, info, annotations or {}, payloads)
        files.insert(0, _write_tables(stage, tables))
        counts = _count(records, len(plan.values), sum(value.size_bytes for value in stored))
        stage.commit(encode_manifest(_manifest(info, checked, counts, files)))
    return Path(path)


def check_level(level: str) -> Level:
    """Refuse a level that this release does not write."""
    if level in LEVELS:
        return level
    later = " of a later release" if level in _LATER_LEVELS else ""
    raise ArtifactError(
        f"Level {level!r}{later} cannot be saved; there are {' and '.join(map(repr, LEVELS))}.",
        code="artifact_save_level_unsupported",
        remedy="save with level='portable' to keep the values, with level='audit' to leave them out",
        level=level,
        levels=LEVELS,
    )


def _no_payload(value: object) -> int:
    del value
    return -1


def _framework(records: Records, info: TraceInfo) -> Backend | None:
    """The backend, which only values in memory need: a loaded trace can be saved without its framework."""
    values = (value for value, _, _ in _saved_values(records, None))
    return backend(info.backend) if any(not isinstance(value, LazyPayload | None) for value in values) else None


def _collect(records: Records, plan: PayloadPlan, labels: Sequence[str] | None) -> None:
    for value, name, device in _saved_values(records, labels):
        plan.add(value, name, device)


def _saved_values(records: Records, labels: Sequence[str] | None) -> Iterator[tuple[object, str, str]]:
    """Each saved value with its name and device: those of ops, then arguments that were written in between."""
    for op in records.ops:
        if op.payload is not None:
            name = f"{op.index}:{op.kind if op.call is None else op.call.name}" if labels is None else labels[op.index]
            yield op.payload, clean(name), str(op.device)
    for call in records.calls:
        for position, alias in enumerate(_alias_reads(call)):
            if alias.value is not None:
                yield alias.value, f"argument {position} of call {call.index}", str(alias.base.device)


def _alias_reads(call: CallRecord) -> Iterator[AliasRead]:
    """Arguments whose memory had been written through other tensors, at any depth."""
    waiting: list[Iterable[object]] = [call.args, (call.kwargs or {}).values()]
    while waiting:
        for value in waiting.pop(0):
            if isinstance(value, AliasRead):
                yield value
            elif isinstance(value, list | tuple):
                waiting.append(cast("Iterable[object]", value))
            elif isinstance(value, dict):
                waiting.append(cast("dict[object, object]", value).values())


def _write_payloads(
    stage: Stage, plan: PayloadPlan, stored: Sequence[PlannedValue], info: TraceInfo
) -> tuple[FileEntry, list[int]]:
    name = stage.name("payloads", "safetensors")
    note = {"format": "tlspec", "trace": clean(info.name)}
    try:
        header = encode_header([(value.name, value.dtype, value.shape) for value in stored], note)
    except HeaderError as error:
        raise ArtifactError(
            f"{len(stored)} saved values are more than one payload file can list: {error}.",
            code="too_many_payloads",
            remedy="save fewer values: tl.trace(..., save=selector), or level='audit'",
            values=len(stored),
        ) from None
    with refusing("write", stage.final_path(name)), stage.open(name) as file:
        with TensorWriter(file, header) as writer:
            for value in stored:
                writer.write(_host_bytes(plan, value))
        sync(file)
    entry = FileEntry(
        name=name,
        role="payloads",
        size=writer.size,
        sha256=writer.sha256,
        header_sha256=hashlib.sha256(header).hexdigest(),
    )
    return entry, writer.checksums


def _host_bytes(plan: PayloadPlan, value: PlannedValue) -> memoryview:
    array = plan.host(value.value)
    if (array.dtype, array.shape, len(array.data)) != (value.dtype, value.shape, value.size_bytes):
        raise BackendCapabilityConformanceError(
            f"The backend announced {value.name!r} as {value.dtype}{list(value.shape)} and delivered "
            f"{array.dtype}{list(array.shape)} in {len(array.data)} bytes.",
            code="host_copy_mismatch",
            remedy="report this to the authors of the backend; save with level='audit' meanwhile",
            name=value.name,
        )
    return array.data


def _write_tables(stage: Stage, tables: Tables) -> FileEntry:
    name = stage.name("tables", "json")
    content = msgspec.json.encode(tables)
    stage.write(name, content)
    return FileEntry(name=name, role="tables", size=len(content), sha256=hashlib.sha256(content).hexdigest())


def _count(records: Records, payloads: int, payload_bytes: int) -> Counts:
    return Counts(
        ops=len(records.ops),
        calls=len(records.calls),
        module_calls=len(records.module_calls),
        modules=len(records.modules),
        params=len(records.params),
        buffers=len(records.buffers),
        payloads=payloads,
        payload_bytes=payload_bytes,
    )


def _manifest(info: TraceInfo, level: Level, counts: Counts, files: list[FileEntry]) -> Manifest:
    return Manifest(
        level=level,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        python_version=platform.python_version(),
        packages=_packages(info.backend),
        backend=clean(info.backend),
        framework_version=clean(info.framework_version),
        trace=clean(info.name),
        model_class_name=clean(info.model_class_name),
        outcome=info.outcome,
        counts=counts,
        files=files,
    )


def _packages(backend_name: str) -> dict[str, str]:
    """Versions of the distributions that made the bundle."""
    packages = {"tl-core": version("tl-core")}
    point = backend_entry_points().get(backend_name)
    if point is not None and point.dist is not None:
        packages[point.dist.name] = point.dist.version
    return packages
