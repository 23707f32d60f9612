"""A place where a bundle grows unseen until it is complete.

A new bundle grows in a hidden directory beside its target and gets its name by one rename. A bundle that replaces
another one grows inside the same directory, under names of its own, and takes over by the rename of its manifest:
there is no moment at which a crash leaves neither.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from typing import TYPE_CHECKING, BinaryIO, final

from tl_core._bundle_file import MANIFEST_NAME, refusing
from tl_core._errors import ArtifactError
from tl_core._manifest import FORMAT, ManifestDamagedError, decode_manifest_head

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

_PARTIAL = ".part"
_OWN_FILE = re.compile(r"(manifest|tables|payloads)(\.[0-9a-f]{8})?\.(json|safetensors)(\.part)?")
_BUFFER_BYTES = 1 << 20


def create(path: str) -> BinaryIO:
    """Create a new file for writing."""
    return open(path, "xb", buffering=_BUFFER_BYTES)


@final
class Stage:
    """Files of a bundle in the making; leaving the block without `commit` removes them."""

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        check_target(target, overwrite=overwrite)
        self._target = str(target)
        self._token = secrets.token_hex(4)
        with refusing("look at", str(target)):
            self._replaces = target.is_dir()
        self._directory = self._target
        if not self._replaces:
            self._directory = str(target.parent / f".{target.name}.{self._token}{_PARTIAL}")
        self._lock = -1
        self._made: list[str] = []

    def __enter__(self) -> Self:
        if not self._replaces:
            with refusing("create", self._directory):
                os.mkdir(self._directory)
        self._lock = _lock(self._directory)
        try:
            if self._replaces:
                self._sweep()
            else:
                _sweep_siblings(self._target, self._directory)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._made:
            _remove(os.path.join(self._directory, name))
        if not self._replaces and self._directory != self._target:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._close()

    def _close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def name(self, stem: str, suffix: str) -> str:
        """Name of a file that no file of an older bundle in the same place has."""
        return f"{stem}.{self._token}.{suffix}" if self._replaces else f"{stem}.{suffix}"

    def path(self, name: str) -> str:
        """Where the file `name` lies for now."""
        return os.path.join(self._directory, name)

    def final_path(self, name: str) -> str:
        """Where the file `name` will lie, for messages."""
        return os.path.join(self._target, name)

    def open(self, name: str) -> BinaryIO:
        """Create a file; close it through `close`."""
        self._made.append(name)
        return create(self.path(name))

    def write(self, name: str, content: bytes) -> None:
        """Create a file with `content`."""
        with refusing("write", self.final_path(name)), self.open(name) as file:
            file.write(content)
            sync(file)

    def commit(self, manifest: bytes) -> None:
        """Make the bundle visible, whole, in one step."""
        partial = MANIFEST_NAME + _PARTIAL
        if self._replaces:
            self.write(partial, manifest)
            with refusing("write", self._target):
                os.replace(self.path(partial), self.path(MANIFEST_NAME))
                _sync_directory(self._directory)
            kept, self._made = {*self._made, MANIFEST_NAME} - {partial}, []
            for name in set(os.listdir(self._directory)) - kept:
                if _OWN_FILE.fullmatch(name):
                    _remove(self.path(name))
            return
        self.write(MANIFEST_NAME, manifest)
        with refusing("write", self._target):
            _sync_directory(self._directory)
            self._rename()
            self._made, self._directory = [], self._target
            _sync_directory(os.path.dirname(os.path.abspath(self._target)))

    def _rename(self) -> None:
        try:
            os.rename(self._directory, self._target)
        except OSError:
            if os.path.lexists(self._target):
                raise exists(self._target) from None
            raise

    def _sweep(self) -> None:
        """Remove what a save that was killed has left in the bundle: the manifest does not name it."""
        with refusing("read", self._directory):
            names = [name for name in os.listdir(self._directory) if _OWN_FILE.fullmatch(name)]
        text = b""
        if MANIFEST_NAME in names:
            with refusing("read", self._directory), open(self.path(MANIFEST_NAME), "rb") as file:
                text = file.read()
            try:
                decode_manifest_head(text)
            except ManifestDamagedError:  # nobody can tell what belongs to it
                return
        for name in names:
            if name != MANIFEST_NAME and name.encode() not in text:
                _remove(self.path(name))


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that cannot be written, or that must not be.

    Raises:
        ArtifactError: it exists (`bundle_exists`), is something else (`bundle_foreign`), or has no parent directory
            (`directory_missing`).
    """
    path = str(target)
    with refusing("look at", path):
        if not os.path.lexists(path):
            _check_parent(target)
            return
        if not overwrite:
            raise exists(path)
        if not target.is_dir():
            raise ArtifactError(
                f"{path} is a file, and a bundle is a directory.",
                code="bundle_foreign",
                remedy="save under another name, or remove the file yourself",
                path=path,
            )
        foreign = sorted(name for name in os.listdir(path) if not _OWN_FILE.fullmatch(name))
        foreign = foreign or _foreign_manifest(path)
    if foreign:
        raise ArtifactError(
            f"{path} holds what no bundle holds ({', '.join(foreign[:5])}), so it is not overwritten.",
            code="bundle_foreign",
            remedy="save under another name, or remove these files yourself",
            path=path,
            foreign=foreign,
        )


def _foreign_manifest(path: str) -> list[str]:
    """The manifest of something else, such as a web application; files that stand beside no manifest."""
    names = os.listdir(path)
    if MANIFEST_NAME not in names:
        return sorted(names)
    with refusing("read", path), open(os.path.join(path, MANIFEST_NAME), "rb") as file:
        text = file.read()
    try:
        return [] if decode_manifest_head(text).format == FORMAT else [MANIFEST_NAME]
    except ManifestDamagedError:  # a bundle that was damaged may be replaced
        return [] if len(names) > 1 or not text else [MANIFEST_NAME]


def exists(path: str) -> ArtifactError:
    """The refusal to overwrite."""
    bundle = os.path.isfile(os.path.join(path, MANIFEST_NAME))
    return ArtifactError(
        f"{path} exists already{'' if bundle else ', and is no bundle'}.",
        code="bundle_exists",
        remedy="save under another name, or pass overwrite=True" if bundle else "save under another name",
        path=path,
    )


def _check_parent(target: Path) -> None:
    parent = target.parent
    if os.path.lexists(parent) and not parent.is_dir():
        raise ArtifactError(
            f"{parent} is a file, so {target.name} cannot be saved in it.",
            code="directory_missing",
            remedy="choose a directory",
            path=str(parent),
        )
    if not parent.is_dir():
        raise ArtifactError(
            f"The directory {parent} does not exist, so {target.name} cannot be saved in it.",
            code="directory_missing",
            remedy=f"create it first: mkdir -p {parent}",
            path=str(parent),
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ArtifactError(
            f"The directory {parent} cannot be written.",
            code="permission_denied",
            remedy="ask for the right to write there, or choose another directory",
            path=str(parent),
        )


def sync(file: BinaryIO) -> None:
    """Bring the content of an open file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(path: str) -> None:
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(directory: str) -> int:
    """Hold a directory for this save; the lock ends with the process, however it ends."""
    if sys.platform == "win32":
        return -1
    import fcntl  # noqa: PLC0415 - there is none on Windows

    with refusing("open", directory):
        descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ArtifactError(
            f"Another save to {directory} is running.",
            code="bundle_busy",
            remedy="wait until it has finished, or save under another name",
            path=directory,
        ) from None
    except OSError:  # a file system without locks
        return descriptor
    return descriptor


def _sweep_siblings(target: str, current: str) -> None:
    """Remove the unfinished directories of saves to `target` that were killed."""
    parent, name = os.path.split(os.path.abspath(target))
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}{re.escape(_PARTIAL)}")
    try:
        names = os.listdir(parent)
    except OSError:  # a directory that may be written and not read
        return
    for found in names:
        path = os.path.join(parent, found)
        if not pattern.fullmatch(found) or found == os.path.basename(current):
            continue
        try:
            os.close(_lock(path))
        except OSError:  # that save is running
            continue
        shutil.rmtree(path, ignore_errors=True)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:  # gone, or held open on Windows: the next save tries again
        return
