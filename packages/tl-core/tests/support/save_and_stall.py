"""Save a trace whose last value takes for ever to copy, so that the parent can kill this process in the middle.

Run as `python save_and_stall.py PATH`; it prints `stalling` once earlier values are written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))

from bundles import trace_of
from numpy_backend import StallingValue, Value

trace_of(Value(np.ones(10**6)), StallingValue(np.zeros(3, np.int8))).save(sys.argv[1], overwrite=True)
