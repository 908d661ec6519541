"""Compilers, flags, the build cache, and what a compiler has to say.

Nothing here knows PyTorch or signatures: a `Unit` of C or C++ goes in, a shared library comes out.
"""

from __future__ import annotations

from opwright.toolchain.build import Built, build, build_many
from opwright.toolchain.cache import cache_root
from opwright.toolchain.compiler import Compiler, find_compiler
from opwright.toolchain.flags import Options, header_dir, include_line, line_directive
from opwright.toolchain.libraries import linked
from opwright.toolchain.plan import Unit

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
