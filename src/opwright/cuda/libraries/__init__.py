"""CUDA's libraries for emulated code: cuBLAS and others, each an object file that is linked where it is called."""

from __future__ import annotations

from opwright.cuda.libraries.build import LinkLibraries, build_libraries, needed
from opwright.cuda.libraries.headers import THRUST, cccl_dir, explained, not_emulated

__all__ = ["THRUST", "LinkLibraries", "build_libraries", "cccl_dir", "explained", "needed", "not_emulated"]
