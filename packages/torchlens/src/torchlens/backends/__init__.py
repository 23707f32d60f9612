"""Which frameworks can be traced, and the contract that each of them fulfils.

What belongs to one framework stands in a module of its name (`tl.backends.torch`), which is imported when it is touched.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tl_core import Backend as Backend
from tl_core import HostArray as HostArray
from tl_core import OpCost as OpCost
from tl_core import backend as backend
from tl_core import backend_entry_points as backend_entry_points

if TYPE_CHECKING:
    from torchlens.backends import torch as torch

__all__ = ["Backend", "HostArray", "OpCost", "backend", "backend_entry_points", "torch"]

FRAMEWORKS = ("torch",)


def __getattr__(name: str) -> object:
    if name in FRAMEWORKS:
        return import_module(f"torchlens.backends.{name}")
    raise AttributeError(f"module 'torchlens.backends' has no attribute {name!r}")
