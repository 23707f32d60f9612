"""What every view of a trace has in common: it never changes, and lives with its trace."""

from __future__ import annotations

from typing import Self

from tl_core._errors import ArtifactError


class View:
    """A trace, or something in one."""

    __slots__ = ()

    def __copy__(self) -> Self:
        """The same: it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """The same: it never changes."""
        return self

    def __reduce__(self) -> str:
        """Refused: a trace is saved as a bundle.

        Raises:
            ArtifactError: always (code `pickle_unsupported`).
        """
        what = type(self).__name__
        raise ArtifactError(
            ("A trace holds" if what == "Trace" else f"{what} is a part of a trace, which holds")
            + " tensors and the code that made them, and is not pickled.",
            code="pickle_unsupported",
            remedy="trace.save(path), and tl.load(path) elsewhere",
        )
