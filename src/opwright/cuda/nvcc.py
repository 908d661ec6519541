"""The back end that compiles host and device code with CUDA's own compiler."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from opwright.codegen.backends import CudaText
from opwright.errors import ToolchainError
from opwright.toolchain import Built, Options, Unit, build


@dataclass(frozen=True)
class Nvcc:
    """CUDA kernels by nvcc: of ``CUDA_HOME``, on the ``PATH``, or of the wheel ``nvidia-cuda-nvcc``.

    For which GPUs, ``TORCH_CUDA_ARCH_LIST`` says; else it is those of this machine. What comes out needs no file of the
    toolkit, and can be loaded where there is no GPU.
    """

    name: ClassVar[str] = "nvcc"
    device: ClassVar[str] = "cuda"
    suffix: ClassVar[str] = ""

    def missing(self) -> str:
        """Why it can't be used here, and what helps; nothing where it can."""
        from opwright.toolchain.nvcc import find_nvcc

        try:
            find_nvcc()
        except ToolchainError as error:
            return str(error)
        return ""

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """The library of `text`: from the cache, or built; `rebuild`: built in any case, under a new name.

        Raises:
            CompileError: nvcc or the host's compiler refused the text; the user's line comes first.
            ToolchainError: there is no nvcc, or none that goes with the C++ compiler.
        """
        return self.built(text, options, rebuild=rebuild).path

    def built(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Built:
        """The same, with what the compilers said."""
        unit = Unit(text.name, text.text, text.source, "cuda", embeds=True)
        return build(unit, options, rebuild=rebuild)
