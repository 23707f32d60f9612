"""What is installed, whether it works, and what of a model is handled: `tl.report.doctor(model)`."""

from tl_doctor import Report as Report
from tl_doctor import Row as Row
from tl_doctor import doctor as doctor

__all__ = ["Report", "Row", "doctor"]
