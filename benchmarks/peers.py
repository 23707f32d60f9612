"""The same networks under other tools, side by side.

    uv run python benchmarks/peers.py [--limit SECONDS]

Each tool runs in an environment of its own, made by uv, with the same torch; each cell in a process of its own, with a
time limit. A cell is the process's CPU time over the raw forward of the same process, divided by the values that the
tool then holds, and the ratio of the two times. No gradients, one torch thread, medians, runs in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import torch
from networks import BUILDERS
from rich.console import Console
from rich.table import Table
from rows import figure

HERE = Path(__file__).parent
PACKAGES = HERE.parent / "packages"
RESULT = HERE / "results" / "peers.json"
TITLES = {
    "mlp": "MLP, 40 ops",
    "resnet18": "resnet18",
    "gpt2": "GPT-2 small",
    "loop500": "loop, 3,001 ops",
    "loop17000": "loop, 102,001 ops",
}
REPETITIONS = {"mlp": 31, "resnet18": 9, "gpt2": 5, "loop500": 3, "loop17000": 1}
TOOLS: dict[str, tuple[str, list[str]]] = {
    "this": ("this library, all derived", [f"{PACKAGES / 'tl-core'}", f"{PACKAGES / 'tl-torch'}"]),
    "torchlens-2.36.1": ("torchlens 2.36.1", ["torchlens==2.36.1"]),
    "nnsight": ("nnsight, leaf modules", ["nnsight==0.8.1"]),
    "hooks": ("forward hooks, leaf modules", []),
    "fx": ("torch.fx Interpreter", []),
}

Cell = dict[str, float | str]


def environment(tool: str, pin: str) -> list[str]:
    """Command that runs Python in the environment of a tool."""
    needs = [f"torch=={pin}", "torchvision", "transformers", *TOOLS[tool][1]]
    return ["uv", "run", "--quiet", "--isolated", "--no-project", *(f"--with={need}" for need in needs), "python"]


def measured(command: list[str], limit: float) -> Cell:
    """Run one cell; what went wrong is the cell's text."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=HERE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        out, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"failed": f"not finished in {limit:.0f} s"}
    if process.returncode != 0:
        return {"failed": (errors.strip().splitlines() or ["no message"])[-1][:80]}
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return {
        "values": found["values"],
        "us_per_value": found["over_s"] / found["values"] * 1e6,
        "ratio": found["ratio"],
        "torch": found["torch"],
    }


def text(cell: Cell) -> str:
    """Write a cell: cost of a value, ratio, number of values."""
    if "failed" in cell:
        return str(cell["failed"])
    cost, ratio = float(cell["us_per_value"]), float(cell["ratio"])
    return f"{figure(cost)} us, {figure(ratio)} x, {int(cell['values']):,} values"


def show(cells: dict[str, dict[str, Cell]]) -> None:
    """Print the networks as rows and the tools as columns."""
    table = Table(title="Cost of a value, ratio to the raw forward, values held", title_justify="left")
    table.add_column("network")
    for tool in cells:
        table.add_column(TOOLS[tool][0])
    for name in TITLES:
        if any(name in found for found in cells.values()):
            table.add_row(TITLES[name], *(text(found[name]) if name in found else "" for found in cells.values()))
    Console(width=None if os.isatty(1) else 160).print(table)


def main() -> None:
    """Measure every cell, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=300, help="seconds that one cell may take")
    parser.add_argument("--tools", nargs="*", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--networks", nargs="*", choices=list(BUILDERS), default=list(BUILDERS))
    options = parser.parse_args()
    pin = torch.__version__.partition("+")[0]
    cells: dict[str, dict[str, Cell]] = {}
    for tool in options.tools:
        python = environment(tool, pin)
        made = subprocess.run([*python, "-c", "pass"], capture_output=True, text=True, check=False)
        cells[tool] = {}
        for name in options.networks:
            print(f"measuring {tool} on {name} ...", file=sys.stderr, flush=True)
            if made.returncode != 0:
                cells[tool][name] = {"failed": f"cannot be installed beside torch {pin}"}
                continue
            command = [*python, str(HERE / "peer.py"), tool, name, str(REPETITIONS[name])]
            cells[tool][name] = measured(command, options.limit)
    show(cells)
    if options.tools == list(TOOLS) and options.networks == list(BUILDERS):
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps({"limit_s": options.limit, "cells": cells}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
