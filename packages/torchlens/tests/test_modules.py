"""The modules under `torchlens` re-export what the packages have, completely."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
        backends.torch.wrappers: [tl_torch],
        debug: [tl_core, tl_torch],
        errors: [tl_core],
        options: [tl_core],
        validation: [tl_torch],
    }
    for module, packages in homes.items():
        public = {name: getattr(home, name) for home in packages for name in home.__all__}
        assert [name for name in module.__all__ if getattr(module, name) is not public[name]] == []


def test_a_framework_is_imported_when_its_backend_module_is_touched() -> None:
    source = "import sys, torchlens as tl; tl.backends.backend; assert 'torch' not in sys.modules; tl.backends.torch.wrappers"
    subprocess.run([sys.executable, "-c", source], check=True)


def test_a_framework_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'caffe'"):
        backends.caffe  # noqa: B018


def test_backends_exports_the_contract() -> None:
    assert backends.Backend is tl_core.Backend
    assert set(backends.__all__) - set(backends.FRAMEWORKS) <= set(tl_core.__all__)
