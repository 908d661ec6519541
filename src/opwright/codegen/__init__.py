"""Generation of C++: kernel libraries from sources and their signatures, for the CPU and for CUDA."""

from __future__ import annotations

from opwright.codegen.library import Instance, instance_name, library_text
from opwright.codegen.source import KernelSource

__all__ = ["Instance", "KernelSource", "instance_name", "library_text"]
