"""Everything works where there is no Graphviz: neither its programs on the path nor its Python package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "support"
CODE = f"""
import importlib.util, shutil, sys, warnings
sys.modules["graphviz"] = None
sys.path.append({str(SUPPORT)!r})
assert shutil.which("dot") is None and shutil.which("neato") is None
from pathlib import Path
from columns import DEFAULTS, load, names
from nets import recurrent, transformer
from tl_viz._draw import picture

folder = Path(sys.argv[1])
for name in names():
    drawing = picture(load(name), DEFAULTS)
    for suffix in (".svg", ".dot", ".pdf"):
        assert drawing.save(folder / (name + suffix)).stat().st_size > 1000
trace = transformer(4)
if importlib.util.find_spec("resvg_py"):
    assert trace.draw().save(folder / "net.png").stat().st_size > 1000
for options in ({{"layout": "rank"}}, {{"direction": "leftright"}}, {{"collapse": "none"}}, {{"code_panel": True}}):
    assert trace.draw(**options).svg.startswith("<svg")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    asked = trace.draw(layout="dot")
assert [one.message.code for one in caught] == ["dot_layout_unavailable"], caught
assert asked.notes[-1] == "laid out without dot: dot is not installed here"
assert asked.geometry == trace.draw().geometry
print("drawn without Graphviz:", len(list(folder.iterdir())), "files")
"""


def test_every_picture_is_drawn_without_graphviz(tmp_path):
    bare = {name: value for name, value in os.environ.items() if name != "PATH"} | {"PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False, env=bare
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("drawn without Graphviz: 3")
