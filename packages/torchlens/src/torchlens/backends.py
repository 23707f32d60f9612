"""Which frameworks can be traced, and the contract that each of them fulfils."""

from tl_core import Backend as Backend
from tl_core import HostArray as HostArray
from tl_core import OpCost as OpCost
from tl_core import backend as backend
from tl_core import backend_entry_points as backend_entry_points

__all__ = ["Backend", "HostArray", "OpCost", "backend", "backend_entry_points"]
