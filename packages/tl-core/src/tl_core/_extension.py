"""Work that lives in another distribution, found when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tl_core._errors import MissingDependencyError

if TYPE_CHECKING:
    from types import ModuleType


def extension(name: str) -> ModuleType:
    """Import a package of TorchLens that core does not depend on.

    Args:
        name: import name, such as `tl_viz`.

    Returns:
        The module.

    Raises:
        MissingDependencyError: it is not installed.

    Example:
        >>> extension("tl_core").__name__
        'tl_core'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        distribution = name.replace("_", "-")
        raise MissingDependencyError(
            f"This needs {distribution}, which is not installed.",
            code="missing_dependency",
            remedy=f"pip install {distribution}",
            distribution=distribution,
        ) from None
