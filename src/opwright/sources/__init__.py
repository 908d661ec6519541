"""What is in a source file: its kernels, with their signatures and functions.

``scan(path)`` finds every ``OPWRIGHT("...")`` and the head of the function behind it; ``match(kernel)`` says what each
of the function's parameters is given, or why the function doesn't fit its signature. No compiler runs, and nothing but
the heads is understood: a file is never refused for what stands elsewhere in it.
"""

from __future__ import annotations

from opwright.sources.match import match
from opwright.sources.match_c import is_status, returned
from opwright.sources.match_cpp import template_variables
from opwright.sources.model import Argument, Function, Given, Kernel, Language, Parameter, Role, Source, View, is_number
from opwright.sources.scan import scan

__all__ = [
    "Argument",
    "Function",
    "Given",
    "Kernel",
    "Language",
    "Parameter",
    "Role",
    "Source",
    "View",
    "is_number",
    "is_status",
    "match",
    "returned",
    "scan",
    "template_variables",
]
