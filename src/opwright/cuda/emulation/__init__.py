"""CUDA on the CPU: kernels are rewritten to C++ and compiled against an emulator of blocks and warps."""

from __future__ import annotations

from opwright.cuda.emulation.backend import Emulate, emulate
from opwright.cuda.emulation.runtime import order, workers

__all__ = ["Emulate", "emulate", "order", "workers"]
