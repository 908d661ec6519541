"""CUDA text, built for the CPU."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.cuda.emulation.checking import words
from opwright.cuda.emulation.control import adopt
from opwright.cuda.emulation.rewrite import Rewriter
from opwright.cuda.emulation.runtime import runtime
from opwright.toolchain import Options, Unit, build, header_dir
from opwright.toolchain.compiler import find_compiler

if TYPE_CHECKING:
    from opwright.codegen.backends import CudaText

SHADOW = header_dir() / "opwright" / "emulation" / "shadow"
"""CUDA's headers, as the emulator has them."""

_BEFORE = "#include <cuda_runtime.h>\n"
"""nvcc includes it by itself, too."""
DEFINED = ("__CUDACC__", "OPWRIGHT_EMULATION", "OPWRIGHT_EMULATION_REWRITTEN")
"""Macros of every emulated text."""

# Real kernels read a float array as float4 or uint4, which nvcc allows. A large local array mustn't skip the page
# below a thread's stack and lie in another thread's.
_FLAGS = ("-fno-strict-aliasing", "-fstack-clash-protection")
_CHECKED = ("-O2",)
"""Most of the time goes into callbacks: -O3 would only take longer to compile."""


@dataclass(frozen=True)
class Emulate:
    """The back end that runs kernels on the CPU: ``load("round.cu", backend=opwright.emulate())``.

    Attributes:
        check: watch every access: races, bounds, shared memory that nobody wrote, divergent barriers. Slow.
    """

    check: bool = False

    name = "emulate"
    device = "cpu"

    @property
    def suffix(self) -> str:
        """What is added to the namespace of its operators."""
        return "_emulated_checked" if self.check else "_emulated"

    def missing(self) -> str:
        """Nothing: a C++ compiler is all that it needs, and building says so where there is none."""
        return ""

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """The library of `text`: from the cache, or built.

        Raises:
            CompileError: the text was refused, by the compiler or because it can't be emulated.
            ToolchainError: no usable compiler.
        """
        watched = words(find_compiler("c++")) if self.check else ()
        unit = Unit(text.name, _BEFORE + text.text, text.source, embeds=True, rewrite=Rewriter(), cflags=watched)
        return build(unit, self.options(options), rebuild=rebuild).path

    def options(self, options: Options) -> Options:
        """`options`, with what every emulated text is compiled with."""
        library = runtime(check=self.check)
        adopt(library)
        checked = ("OPWRIGHT_EMULATION_CHECK",) if self.check else ()
        level = _CHECKED if self.check and not options.debug else ()
        return dataclasses.replace(
            options,
            define=(*DEFINED, *checked, *options.define),
            include_dirs=(*options.include_dirs, SHADOW),
            extra_cflags=(*level, *_FLAGS, *options.extra_cflags),
            extra_ldflags=(*options.extra_ldflags, str(library)),
        )


def emulate(check: bool = False) -> Emulate:
    """The back end that runs CUDA kernels on CPU tensors, for `opwright.load`.

    Args:
        check: watch every access of every thread, and end a launch at its first fault: a race, an access out of bounds,
            shared memory that nobody wrote, a barrier or a shuffle that not all threads reach, an integer overflow.
    """
    return Emulate(check=check)
