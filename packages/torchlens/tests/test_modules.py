"""The modules under `torchlens` re-export what the packages have, completely."""

from __future__ import annotations

import tl_core
import tl_torch
from torchlens import backends, debug, errors, options, validation


def exported(base: type) -> set[str]:
    return {
        name
        for name in tl_core.__all__
        if isinstance(value := getattr(tl_core, name), type) and issubclass(value, base)
    }


def test_errors_holds_every_error_and_warning() -> None:
    assert set(errors.__all__) == exported(tl_core.TorchLensError) | exported(tl_core.TorchLensWarning)


def test_options_holds_every_options_record() -> None:
    records = {name for name in tl_core.__all__ if name.endswith("Options")}
    assert set(options.__all__) >= records


def test_each_module_exports_what_it_names() -> None:
    homes = {
        backends: [tl_core],
        debug: [tl_core, tl_torch],
        errors: [tl_core],
        options: [tl_core],
        validation: [tl_torch],
    }
    for module, packages in homes.items():
        public = {name: getattr(home, name) for home in packages for name in home.__all__}
        assert [name for name in module.__all__ if getattr(module, name) is not public[name]] == []
