"""The doctor with a torch that is broken, absent, too old or whole, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

ASK = """
import json, sys
sys.path.insert(0, {folder!r})
{before}
from tl_doctor import doctor
report = doctor()
frameworks = sorted({{"torch", "jax", "tensorflow"}} & {{name for name, module in sys.modules.items() if module}})
rows = {{row.key: [row.status, row.severity, row.detected, row.details, row.suggestion] for row in report.rows}}
print(json.dumps([rows, frameworks]))
"""
WHOLE = """
class cuda:
    is_available = staticmethod(lambda: {cuda})
    device_count = staticmethod(lambda: 2)
    get_device_name = staticmethod(lambda at: f"Card {{at}}")
class version:
    cuda = {build!r}
    hip = None
__version__ = {version!r}
"""


def ask(folder: Path, before: str = "") -> tuple[dict[str, list], list[str]]:
    source = ASK.format(folder=str(folder), before=before)
    finished = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    rows, frameworks = json.loads(finished.stdout)
    return rows, frameworks


@pytest.fixture
def torch_file(tmp_path: Path) -> Path:
    file = tmp_path / "torch" / "__init__.py"
    file.parent.mkdir()
    return file


def test_a_broken_torch_is_a_row_with_its_own_error(tmp_path: Path, torch_file: Path) -> None:
    torch_file.write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    rows, frameworks = ask(tmp_path)
    status, severity, detected, details, suggestion = rows["torch"]
    assert (status, severity, detected) == ("known_broken", "error", True)
    assert details == (
        "installed, and cannot be imported: ImportError: libcudart.so.12: cannot open shared object file"
    )
    assert suggestion.startswith("reinstall it: pip install --force-reinstall 'torch")
    assert rows["cuda"][:3] == ["not_tested", "ok", False]
    assert rows["python"][0] == rows["numpy"][0] == "pass"
    assert frameworks == []


def test_a_torch_that_ends_the_process_is_a_row(tmp_path: Path, torch_file: Path) -> None:
    torch_file.write_text("import os; os._exit(11)")
    rows, _ = ask(tmp_path)
    assert rows["torch"][3] == "installed, and cannot be imported: the import ended with 11"


def test_an_empty_folder_called_torch_is_broken(tmp_path: Path, torch_file: Path) -> None:
    torch_file.write_text("")
    rows, _ = ask(tmp_path)
    assert rows["torch"][0] == "known_broken"
    assert "AttributeError" in rows["torch"][3]


def test_an_absent_torch_says_what_to_install(tmp_path: Path) -> None:
    rows, frameworks = ask(tmp_path, before="sys.modules['torch'] = None")
    assert rows["torch"][0] == "scope"
    assert rows["torch"][2] is False
    assert rows["torch"][3].startswith("not installed")
    assert "pip install" in rows["torch"][4]
    assert rows["serving_engine"][0] == "scope"
    assert frameworks == []


@pytest.mark.parametrize("before", ["", "import torch"])
def test_a_whole_torch_is_asked_for_its_devices_loaded_or_not(tmp_path: Path, torch_file: Path, before: str) -> None:
    torch_file.write_text(WHOLE.format(cuda=True, build="13.2", version="9.1.0+cu132"))
    # The name of an installed tl-torch's contributor is torch; this torch could not carry it.
    before += "\nimport tl_doctor._contributor as c; c.CONTRIBUTORS = 'none'"
    rows, frameworks = ask(tmp_path, before)
    assert rows["torch"][:3] == ["pass", "ok", True]
    assert rows["torch"][3].startswith("9.1.0+cu132")
    assert rows["cuda"][:3] == ["pass", "ok", True]
    assert rows["cuda"][3] == "torch is built for 13.2; 2 devices: Card 0, Card 1"
    assert frameworks == (["torch"] if "import torch" in before else [])


def test_a_cpu_build_has_no_device(tmp_path: Path, torch_file: Path) -> None:
    torch_file.write_text(WHOLE.format(cuda=False, build=None, version="9.1.0+cpu"))
    rows, _ = ask(tmp_path, "import shutil; shutil.which = lambda name: None")
    assert rows["cuda"] == ["pass", "info", False, "torch is built for the CPU; no CUDA device here", ""]


def test_a_driver_without_a_device_is_a_warning(tmp_path: Path, torch_file: Path) -> None:
    torch_file.write_text(WHOLE.format(cuda=False, build=None, version="9.1.0+cpu"))
    rows, _ = ask(tmp_path, "import shutil; shutil.which = lambda name: name")
    assert rows["cuda"][:3] == ["not_tested", "warning", False]


def test_a_torch_outside_the_range_of_tl_torch(tmp_path: Path, torch_file: Path) -> None:
    torch_file.write_text(WHOLE.format(cuda=False, build=None, version="1.13.1"))
    info = tmp_path / "tl_torch-0.1.0.dist-info"
    info.mkdir()
    metadata = "Metadata-Version: 2.1\nName: tl-torch\nVersion: 0.1.0\nRequires-Dist: tl-core<0.2,>=0.1\n"
    (info / "METADATA").write_text(metadata + "Requires-Dist: torch>=2.4\n")
    rows, _ = ask(tmp_path)
    assert rows["torch"][:2] == ["known_broken", "error"]
    assert rows["torch"][3:] == ["1.13.1; tl-torch needs torch>=2.4", "pip install 'torch>=2.4'"]


def test_numpy_may_be_broken_too(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('numpy is broken')")
    rows, _ = ask(tmp_path, before="sys.modules['torch'] = None")
    assert rows["python"][0] == "pass"
