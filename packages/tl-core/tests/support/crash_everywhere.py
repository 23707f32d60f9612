"""Kill a save at each of its steps in turn, and say what the bundle is afterwards.

Run as `python crash_everywhere.py FOLDER MODE`, where MODE is `new` or `replace`. For each step it forks a child that
saves and dies there without any clean-up, loads what is left, and prints one line: `old`, `new`, `none` or an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from bundles import trace_of, value

import tl_core

STEPS = ("open", "mkdir", "fsync", "replace", "rename", "unlink", "close", "listdir")


def die_at(step: int) -> None:
    """Leave the process at once, without clean-up, when the wanted call of the operating system is reached."""
    count = 0

    def dying(original):
        def call(*args, **kwargs):
            nonlocal count
            count += 1
            if count == step:
                os._exit(77)
            return original(*args, **kwargs)

        return call

    for name in STEPS:
        setattr(os, name, dying(getattr(os, name)))


def state_of(path: Path) -> str:
    if not path.exists():
        return "none"
    first = tl_core.load(path, lazy=False).ops[1].out
    return {0.0: "old", 50.0: "new"}[float(first.array[0])] + f" {len(list(path.iterdir()))}"


def main(folder: Path, mode: str) -> None:
    path = folder / "a.tlspec"
    old, new = trace_of(value(4)), trace_of(value(4, start=50))
    for step in range(1, 200):
        shutil.rmtree(path, ignore_errors=True)
        if mode == "replace":
            old.save(path)
        child = os.fork()
        if child == 0:
            die_at(step)
            new.save(path, overwrite=True)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, state_of(path), flush=True)
        if status == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
