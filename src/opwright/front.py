"""`opwright.load`, with all that it can load: kernels with signatures, and ATen extensions."""

from __future__ import annotations

from opwright.aten.recognise import extension
from opwright.runtime import load
from opwright.runtime.loading import front_ends

__all__ = ["load"]

front_ends.append(extension)
