"""Opening, reading and refusing the files of a bundle."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from tl_core._errors import ArgumentTypeError, ArtifactError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Generator

    from tl_core._manifest import FileEntry

MANIFEST_NAME = "manifest.json"
MAX_MANIFEST_BYTES = 1 << 24
COPY_AGAIN = "copy the bundle again, or save the trace again"
# A bundle never holds links, and opening a pipe must not wait for its other end.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_CODES = {
    errno.ENOSPC: ("disk_full", "free some space, or save to another disk"),
    errno.EDQUOT: ("disk_full", "free some space, or save to another disk"),
    errno.EFBIG: ("file_too_large", "save to a file system that takes larger files, or save fewer values"),
    errno.EACCES: ("permission_denied", "ask for the right to use that directory, or choose another"),
    errno.EPERM: ("permission_denied", "ask for the right to use that directory, or choose another"),
    errno.EROFS: ("permission_denied", "choose a directory that can be written"),
    errno.ENOENT: ("file_missing", COPY_AGAIN),
    errno.EMFILE: (
        "too_many_files",
        "let go of loaded traces (each keeps one file open), or raise the limit: ulimit -n 4096",
    ),
    errno.ELOOP: ("file_foreign", "replace the link by the file that it points to"),
}


_WRITE_CODES = _CODES | {
    errno.ENOENT: ("directory_missing", "create its directory first, or choose one that takes new files"),
    errno.ENOTDIR: ("directory_missing", "choose a directory"),
    errno.ENAMETOOLONG: ("path_invalid", "choose a shorter name"),
}


def bundle_path(path: object, asked: str) -> str:
    """The path of a bundle, as a text; `~` is the home directory.

    Args:
        path: what the user gave.
        asked: the function that it was given to, for messages.

    Raises:
        ArgumentTypeError: it is no path (`path_invalid`).
        ConfigurationError: it is empty, or holds a null character (`path_invalid`).
    """
    remedy = f'{asked}("run.tlspec")'
    text: object = os.fspath(cast("str", path)) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str):
        shown = f"{text!r} ({type(text).__name__})"
        raise ArgumentTypeError(
            f"{asked} takes the path of a bundle, and was given {shown}.",
            code="path_invalid",
            remedy=remedy,
            given=shown,
        )
    if not text or "\0" in text:
        what = "a path with a null character" if text else "an empty path"
        raise ConfigurationError(
            f"{asked} takes the path of a bundle, and was given {what}.", code="path_invalid", remedy=remedy, given=text
        )
    return os.path.expanduser(text)


def check_flag(option: str, value: object, remedy: str) -> None:
    """Refuse what is neither True nor False.

    Args:
        option: as users write it, such as `tl.load(lazy=...)` without its value: `tl.load(lazy`.
        value: what they gave.
        remedy: what to do.

    Raises:
        ArgumentTypeError: always but for True and False (`lazy_invalid`).
    """
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            f"{option}={value!r}): True or False is meant.",
            code=f"{option.partition('(')[2]}_invalid",
            remedy=remedy,
            given=value,
        )


@contextmanager
def refusing(action: str, path: str) -> Generator[None]:
    """Turn an operating system's refusal of `action` on `path` into an `ArtifactError`."""
    try:
        yield
    except ArtifactError:
        raise
    except OSError as error:
        codes = _CODES if action == "read" else _WRITE_CODES
        code, remedy = codes.get(error.errno or 0, ("io_failed", "see the cause; then try again"))
        raise ArtifactError(
            f"Cannot {action} {path}: {error.strerror or error}.",
            code=code,
            remedy=remedy,
            path=path,
            errno=error.errno,
        ) from error


def open_file(path: str) -> tuple[int, int]:
    """Descriptor and size of a regular file of a bundle.

    Raises:
        ArtifactError: it is missing (`file_missing`), a link or no regular file (`file_foreign`).
    """
    with refusing("read", path):
        descriptor = os.open(path, _READ_FLAGS)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ArtifactError(
            f"{path} is not a regular file, and a bundle holds nothing else.",
            code="file_foreign",
            remedy=COPY_AGAIN,
            file=path,
        )
    return descriptor, status.st_size


def open_entry(directory: str, entry: FileEntry) -> int:
    """Descriptor of a file that the manifest lists, once its size is what the manifest says."""
    path = os.path.join(directory, entry.name)
    descriptor, size = open_file(path)
    if size != entry.size:
        os.close(descriptor)
        cut = size < entry.size
        raise ArtifactError(
            f"{path} has {size} bytes, and {entry.size} were saved.",
            code="file_truncated" if cut else "file_altered",
            remedy=COPY_AGAIN,
            file=path,
            expected=entry.size,
            found=size,
        )
    return descriptor


def read_entry(directory: str, entry: FileEntry) -> bytes:
    """Content of a file that the manifest lists, checked against its digest."""
    descriptor = open_entry(directory, entry)
    path = os.path.join(directory, entry.name)
    with os.fdopen(descriptor, "rb") as file, refusing("read", path):
        content = file.read(entry.size)
    check_digest(path, hashlib.sha256(content).hexdigest(), entry.sha256)
    return content


def check_digest(path: str, found: str, expected: str) -> None:
    """Refuse a file whose bytes are not the ones that were saved."""
    if found != expected:
        raise ArtifactError(
            f"{path} is not what was saved: its SHA-256 is {found[:12]}..., expected {expected[:12]}...",
            code="file_altered",
            remedy=COPY_AGAIN,
            file=path,
            expected=expected,
            found=found,
        )
