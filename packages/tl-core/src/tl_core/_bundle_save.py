"""Writing a trace to a bundle."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tl_core._backend import backend, backend_entry_points
from tl_core._bundle_encode import TableEncoder, clean
from tl_core._bundle_file import bundle_path, check_flag, refusing
from tl_core._bundle_plan import PayloadPlan, PlannedValue
from tl_core._bundle_stage import Stage, check_target, sync
from tl_core._errors import ArtifactError, BackendCapabilityConformanceError, BackendUnsupportedError
from tl_core._manifest import EXECUTABLE, LEVELS, Counts, FileEntry, Level, Manifest, encode_manifest
from tl_core._revive import ResolvingBackend
from tl_core._safetensors import HeaderError, TensorWriter, encode_header

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from tl_core._bundle_columns import Tables
    from tl_core._record import Records
    from tl_core._trace import TraceInfo

_LATER_LEVELS = ("runnable",)


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
        level: `"portable"` with the saved values, `"audit"` without, `"executable_with_callables"` with what calls need
            to run again.
        overwrite: replace a bundle that is there.
        labels: label of each op, under which other readers find its value.
        annotations: notes on the trace.

    Returns:
        The path of the bundle.

    Raises:
        ArtifactError: it was refused, or the disk is full; an older bundle is then as it was.
    """
    checked = check_level(level)
    _check_source(info, checked)
    with Stage(Path(path), overwrite=overwrite) as stage:
        plan = None if checked == "audit" else PayloadPlan(info.backend)
        encoder = TableEncoder(plan, identify=_identifier(info) if checked == EXECUTABLE else None)
        tables = encoder.encode(records, info, annotations or {}, labels)
        files: list[FileEntry] = []
        if plan is not None:
            stored, views = plan.arrange()
            entry, checksums = _write_payloads(stage, plan, stored, info)
            files.append(entry)
            encoder.place(tables, plan.values, views, checksums)
        files.insert(0, _write_tables(stage, tables))
        stage.commit(encode_manifest(_manifest(info, checked, _count(tables, files), files)))
    return Path(path)


def check_request(path: str | os.PathLike[str], level: str, *, overwrite: bool) -> Path:
    """Refuse what `save` would refuse, before any work; return where it is to write."""
    target = Path(bundle_path(path, "trace.save"))
    check_level(level)
    check_flag("trace.save(overwrite", overwrite, "trace.save(path, overwrite=True) replaces a bundle that is there")
    check_target(target, overwrite=overwrite)
    return target


def _check_source(info: TraceInfo, level: Level) -> None:
    """Refuse to make more of a loaded bundle than it held."""
    if level == EXECUTABLE and info.loaded and info.level != EXECUTABLE:
        raise ArtifactError(
            f"{info.name!r} was loaded from a bundle of level {info.level!r}, which holds neither arguments nor functions.",
            code="artifact_level_unavailable",
            remedy="save with level='portable', or trace the model again",
            level=level,
            loaded_level=info.level,
        )


def _identifier(info: TraceInfo) -> Callable[[Callable[..., object]], str | None]:
    """What names the functions of a framework so that they are found again."""
    if info.loaded:
        return lambda function: None
    framework = backend(info.backend)
    if isinstance(framework, ResolvingBackend):
        return framework.identify
    raise BackendUnsupportedError(
        f"The backend {info.backend!r} cannot find functions again by their names, so its bundles cannot run.",
        code="backend_validation_replay_unsupported",
        remedy="save with level='portable', and validate the live trace",
        backend=info.backend,
    )


def check_level(level: str) -> Level:
    """Refuse a level that this release does not write."""
    if level in LEVELS:
        return level
    later = " of a later release" if level in _LATER_LEVELS else ""
    raise ArtifactError(
        f"Level {level!r}{later} cannot be saved; there are {', '.join(map(repr, LEVELS))}.",
        code="artifact_save_level_unsupported",
        remedy="save with level='portable' to keep the values, with level='audit' to leave them out",
        level=level,
        levels=LEVELS,
    )


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


def _count(tables: Tables, files: list[FileEntry]) -> Counts:
    return Counts(
        ops=len(tables.ops.kind),
        calls=len(tables.calls.name),
        module_calls=len(tables.module_calls.module),
        modules=len(tables.modules.address),
        params=len(tables.params.address),
        buffers=len(tables.buffers.address),
        payloads=len(tables.payloads.region),
        payload_bytes=sum(entry.size for entry in files if entry.role == "payloads"),
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
