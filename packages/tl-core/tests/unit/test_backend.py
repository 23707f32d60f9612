"""The registry of backends, with distributions as an installer leaves them."""

from __future__ import annotations

import importlib
import sys

import pytest

from tl_core import BackendUnsupportedError, MissingDependencyError, backend, backend_entry_points


def installed(folder, distribution, points, modules):
    """Lay a distribution out in `folder`: its metadata, entry points and modules."""
    info = folder / f"{distribution}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[torchlens.backends]\n" + "".join(f"{point}\n" for point in points))
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder on the path; what the registry has read is forgotten before and after."""

    def forget():
        backend_entry_points.cache_clear()
        backend.cache_clear()
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield tmp_path
    for name in ("paper_backend", "ink_backend"):
        sys.modules.pop(name, None)
    forget()


def test_a_backend_is_found_without_being_imported_and_made_once(place):
    installed(place, "paper", ["paper = paper_backend:Paper"], {"paper_backend": "class Paper: name = 'paper'\n"})
    assert "paper" in backend_entry_points()
    assert "paper_backend" not in sys.modules
    made = backend("paper")
    assert made.name == "paper"
    assert backend("paper") is made


def test_an_unknown_backend(place):
    installed(place, "paper", ["paper = paper_backend:Paper"], {})
    others = ", ".join(sorted(backend_entry_points()))
    with pytest.raises(BackendUnsupportedError) as caught:
        backend("papre")
    assert caught.value.code == "unknown_backend"
    assert str(caught.value) == (
        f"No backend is called 'papre'; installed: {others}. Did you mean 'paper'?\n"
        "  What to do: install the distribution that registers 'papre' in the entry-point group 'torchlens.backends'"
    )
    assert caught.value.fields["asked"] == "papre"
    assert "paper" in caught.value.fields["installed"]


def test_a_backend_whose_framework_is_absent(place):
    installed(place, "ink", ["ink = ink_backend:Ink"], {"ink_backend": "import inkwell\n"})
    with pytest.raises(MissingDependencyError) as caught:
        backend("ink")
    assert isinstance(caught.value, ImportError)
    assert caught.value.code == "missing_dependency"
    assert str(caught.value) == (
        "Backend 'ink' needs inkwell, which is not installed.\n  What to do: pip install inkwell"
    )
