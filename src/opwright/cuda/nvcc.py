"""The back end that compiles host and device code with CUDA's own compiler."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from opwright.codegen.backends import CudaText
from opwright.errors import ToolchainError
from opwright.toolchain import Built, Options, Unit, build
from opwright.toolchain.build.builder import look_up


@dataclass(frozen=True)
class Nvcc:
    """The back end that compiles CUDA with nvcc from ``CUDA_HOME``, the ``PATH``, or the wheel ``nvidia-cuda-nvcc``.

    It compiles for the GPUs in ``TORCH_CUDA_ARCH_LIST``, by default for those of this machine. The library needs no
    file of the toolkit and can be loaded without a GPU.
    """

    name: ClassVar[str] = "nvcc"
    device: ClassVar[str] = "cuda"
    suffix: ClassVar[str] = ""

    def missing(self) -> str:
        """Return why nvcc can't be used here, with a likely fix; "" if it can."""
        from opwright.toolchain.compilers.nvcc import find_nvcc

        try:
            find_nvcc()
        except ToolchainError as error:
            return str(error)
        return ""

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """Return the library of `text` from the cache, or build it; with `rebuild`, always build, under a new name.

        Raises:
            CompileError: nvcc or the host compiler refused the code; the message begins with the user's line.
            ToolchainError: there is no nvcc, or none that is compatible with the C++ compiler.
        """
        return self.built(text, options, rebuild=rebuild).path

    def built(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Built:
        """Build as `build` does; return the library with the compilers' messages."""
        return build(_unit(text), options, rebuild=rebuild)

    def look_up(self, text: CudaText, options: Options) -> Path | None:
        """Return the library of `text` if it is in the cache, else None."""
        return look_up(_unit(text), options)


def _unit(text: CudaText) -> Unit:
    return Unit(text.name, text.text, text.source, "cuda", embeds=True, kernels=text.kernels)
