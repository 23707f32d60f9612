"""Says what of TorchLens is installed and whether it works, here and for a model."""

from tl_doctor._doctor import doctor as doctor
from tl_doctor._report import Report as Report
from tl_doctor._row import Row as Row
from tl_doctor._row import Severity as Severity
from tl_doctor._row import Status as Status

__all__ = ["Report", "Row", "Severity", "Status", "doctor"]
