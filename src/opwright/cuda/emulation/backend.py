"""The back end that emulates CUDA kernels on the CPU."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.cuda.emulation.loops.compiling import build_emulated, look_up_emulated
from opwright.cuda.emulation.rewrite import Rewriter
from opwright.cuda.emulation.runtime import apply_settings, build_runtime, check_flags
from opwright.cuda.emulation.uninitialised import asking, with_warnings
from opwright.cuda.libraries import THRUST, LinkLibraries, cccl_dir, explained
from opwright.errors import CompileError
from opwright.toolchain import Options, Unit, header_dir
from opwright.toolchain.compilers.compiler import find_compiler

if TYPE_CHECKING:
    from opwright.codegen.backends import CudaText

SHADOW = header_dir() / "opwright" / "emulation" / "shadow"
"""The emulator's replacements of CUDA's headers."""
STAND_INS = SHADOW.parent / "stand_ins"
"""Headers for programs that find no others: MPI's."""

_BEFORE = "#include <cuda_runtime.h>\n"
"""The code in front of each source: nvcc includes this header automatically, too."""
DEFINED = ("__CUDACC__", "OPWRIGHT_EMULATION", "OPWRIGHT_EMULATION_REWRITTEN")
"""Macros that are defined for all emulated code."""

# Real kernels read a float array as float4 or uint4, which nvcc allows. A large local array must not skip the guard
# page below a thread's stack and overlap another thread's stack.
_FLAGS = ("-fno-strict-aliasing", "-fstack-clash-protection")
# Where gcc sees that a kernel divides by zero, it would put an illegal instruction in place of the division.
_GCC = ("-fno-isolate-erroneous-paths-dereference",)
CPP_FLAGS = ("-fcheck-new",)
"""Flags for emulated C++: `new` in a kernel returns null where the device's heap has no room, as on a GPU."""
_CHECKED = ("-O2",)
"""Flags for checked kernels: most time is spent in callbacks, so -O3 would only take longer to compile."""


def emulation_flags() -> tuple[str, ...]:
    """Return the compiler's flags for all emulated code."""
    return (*_FLAGS, *(() if find_compiler("c++").kind == "clang" else _GCC))


@dataclass(frozen=True)
class Emulate:
    """The back end that runs kernels on the CPU: ``load("round.cu", backend=opwright.emulate())``.

    Attributes:
        check: check every access (slow): races, bounds, reads of unwritten shared memory, divergent barriers.
    """

    check: bool = False

    name = "emulate"
    device = "cpu"

    @property
    def suffix(self) -> str:
        """The suffix of its operators' namespace."""
        return "_emulated_checked" if self.check else "_emulated"

    def missing(self) -> str:
        """Return "": only a C++ compiler is needed, and the build reports a missing one."""
        return ""

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """Return the library of `text` from the cache, or build it; with `rebuild`, always build, under a new name.

        Raises:
            CompileError: the compiler refused the code, or it can't be emulated.
            ToolchainError: there is no usable compiler.
        """
        try:
            return with_warnings(build_emulated(self._unit(text), self.options(options), rebuild=rebuild)).path
        except CompileError as error:
            raise explained(error) from None

    def look_up(self, text: CudaText, options: Options) -> Path | None:
        """Return the library of `text` if it is in the cache, else None."""
        return look_up_emulated(self._unit(text), self.options(options))

    def _unit(self, text: CudaText) -> Unit:
        watched = check_flags(find_compiler("c++")) if self.check else ()
        return Unit(
            text.name,
            _BEFORE + text.text,
            text.source,
            embeds=True,
            cflags=watched,
            rewrite=Rewriter(loops=not self.check, arrays=self.check, library=True),
            addition=LinkLibraries(),
            kernels=text.kernels,
        )

    def options(self, options: Options) -> Options:
        """Return `options` with the flags, macros and the runtime of emulated code added."""
        library = build_runtime(check=self.check)
        apply_settings(library)
        cccl = cccl_dir()
        checked = ("OPWRIGHT_EMULATION_CHECK",) if self.check else ()
        level = _CHECKED if self.check and not options.debug else ()
        asked = asking(find_compiler("c++")) if self.check else ()
        return dataclasses.replace(
            options,
            define=(*DEFINED, *checked, *((THRUST,) if cccl else ()), *options.define),
            include_dirs=(*options.include_dirs, SHADOW),
            system_include_dirs=(*options.system_include_dirs, *((cccl,) if cccl else ())),
            extra_cflags=(*level, *asked, *emulation_flags(), *CPP_FLAGS, *options.extra_cflags),
            extra_ldflags=(*options.extra_ldflags, str(library)),
        )


def emulate(check: bool = False) -> Emulate:
    """Return the back end that runs CUDA kernels on CPU tensors, for `opwright.load`.

    Args:
        check: check every access of every thread, and end a launch at its first error: a race, an access out of bounds,
            a read of unwritten shared memory, a barrier or shuffle that not all threads reach, an integer overflow.
    """
    return Emulate(check=check)
