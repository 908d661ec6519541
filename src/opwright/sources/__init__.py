"""The contents of a source file: its kernels, with their signatures and functions.

``scan(path)`` finds every ``OPWRIGHT("...")`` and the head of the function after it. ``match(kernel)`` maps arguments
to the function's parameters, or reports why the function doesn't fit its signature. No compiler runs, and only the
heads are parsed: other code in a file never causes an error.
"""

from __future__ import annotations

from opwright.sources.matching import match
from opwright.sources.matching.by_name import is_status, returned_output
from opwright.sources.matching.by_position import template_variables
from opwright.sources.model import (
    Argument,
    ExternalSignature,
    Function,
    Kernel,
    Parameter,
    Source,
    is_number,
)
from opwright.sources.scan import scan

__all__ = [
    "Argument",
    "ExternalSignature",
    "Function",
    "Kernel",
    "Parameter",
    "Source",
    "is_number",
    "is_status",
    "match",
    "returned_output",
    "scan",
    "template_variables",
]
