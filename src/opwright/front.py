"""`opwright.load`, with all that it can load: kernels with signatures for CPU and GPU, and ATen extensions."""

from __future__ import annotations

import opwright.cuda  # noqa: F401 - whoever loads a source finds its back ends
from opwright.aten.recognise import extension
from opwright.runtime import load
from opwright.runtime.inline import load_inline
from opwright.runtime.loading import front_ends

__all__ = ["load", "load_inline"]

front_ends.append(extension)
