"""Compilers, flags, the build cache, and the compilers' messages.

This package doesn't depend on PyTorch or signatures: it compiles a `Unit` of C, C++ or CUDA to a shared library.
"""

from __future__ import annotations

from opwright.toolchain.build.builder import Built, build, build_many
from opwright.toolchain.build.plan import Unit
from opwright.toolchain.cache.folder import cache_root
from opwright.toolchain.compilers.compiler import Compiler, find_compiler
from opwright.toolchain.compilers.flags import Options, header_dir, include_line, line_directive, linked

__all__ = [
    "Built",
    "Compiler",
    "Options",
    "Unit",
    "build",
    "build_many",
    "cache_root",
    "find_compiler",
    "header_dir",
    "include_line",
    "line_directive",
    "linked",
]
