"""The namespace of TorchLens: `import torchlens as tl`.

Every public name of the packages stands here, and none of them is imported before it is touched: importing
`torchlens` loads no framework. `__init__.pyi` tells type checkers what the names are.
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

_HOME = {
    # recording, checking, loading
    "trace": "tl_torch",
    "load": "tl_core",
    "validate": "tl_torch",
    "compare": "tl_core",
    "CaptureOptions": "tl_core",
    "release_model": "tl_torch",
    # what a run gives back
    "Trace": "tl_core",
    "Op": "tl_core",
    "Layer": "tl_core",
    "Module": "tl_core",
    "ModuleCall": "tl_core",
    "Param": "tl_core",
    "Buffer": "tl_core",
    "AtenOp": "tl_core",
    # drawing and tables
    "draw": "tl_viz",
    "Drawing": "tl_viz",
    "Summary": "tl_core",
    "Comparison": "tl_core",
    # numbers that print their unit
    "Bytes": "tl_core",
    "Duration": "tl_core",
    "Flops": "tl_core",
    "Macs": "tl_core",
    # selectors
    "Selector": "tl_core",
    "func": "tl_core",
    "in_module": "tl_core",
    "label": "tl_core",
    "label_contains": "tl_core",
    "module": "tl_core",
    "where": "tl_core",
    # by subject
    "backends": "torchlens.backends",
    "debug": "torchlens.debug",
    "errors": "torchlens.errors",
    "options": "torchlens.options",
    "report": "torchlens.report",
    "validation": "torchlens.validation",
}
"""Where each public name lives: the package that exports it, or the module of `torchlens` that it is."""

__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]  # checkers read the .pyi


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _import_module("importlib.metadata").version("torchlens")  # it is slow to import
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(
            f"module 'torchlens' has no attribute {name!r}", name=name, obj=_import_module("torchlens")
        )
    try:
        module = _import_module(home)
    except ModuleNotFoundError as error:
        if error.name != home:
            raise  # something inside an installed package is broken, and its own error says what
        distribution = home.replace("_", "-")
        raise ImportError(
            f"torchlens.{name} comes with {distribution}, which is not installed. Run: pip install {distribution}",
            name=home,
        ) from None
    value: object = module if home == f"torchlens.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    own = {name for name in globals() if not name.startswith("_") or name.startswith("__")}
    return sorted(own | {name for name, home in _HOME.items() if _find_spec(home)})
