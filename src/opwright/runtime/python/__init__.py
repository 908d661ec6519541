"""The runtime in Python: what ``csrc/`` does, without a compiler. Kernel libraries are opened and called by ctypes."""

from __future__ import annotations
