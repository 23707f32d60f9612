"""Drawing needs no machine-learning framework, and importing draws in nothing that is slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "support"
FRAMEWORKS = ("torch", "jax", "tensorflow", "mlx", "paddle", "tinygrad", "resvg_py", "graphviz")
CODE = f"""
import sys
sys.path.append({str(SUPPORT)!r})
from nets import transformer
drawing = transformer(2).draw()
drawing.svg, drawing.dot
print(sorted(set({FRAMEWORKS!r}) & set(sys.modules)))
"""


def loaded(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_drawing_imports_no_framework():
    assert loaded(CODE) == "[]"


def test_this_test_can_fail():
    assert loaded(CODE.replace("import sys\n", "import sys\nsys.modules['torch'] = sys\n", 1)) == "['torch']"
