"""Chromium as it is on this machine: what it makes of a page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("dot", "pdftoppm", "chromium")
}
"""Marks for tests that need a program."""

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=5000",
    "--dump-dom",
]


def answer(folder, body, script):
    """Return the value of a JavaScript expression on a page with `body`, after everything was loaded."""
    page = folder / "page.html"
    run = f"window.onload = () => {{ document.title = JSON.stringify({script}) }}"
    page.write_text(f"<html><meta charset=utf-8><body>{body}<script>{run}</script></body></html>", encoding="utf-8")
    done = subprocess.run(
        ["chromium", *FLAGS, f"--user-data-dir={folder / 'profile'}", page.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return json.loads(unescape(re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)[1]))
