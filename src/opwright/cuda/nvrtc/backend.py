"""The NVRTC back end, for machines without a CUDA toolkit."""

from __future__ import annotations

import dataclasses
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from opwright.codegen.backends import CudaText
from opwright.cuda.nvrtc.build_steps import DeviceHalf, HostHalf
from opwright.cuda.nvrtc.discovery import Nvrtc as Library
from opwright.cuda.nvrtc.discovery import find_nvrtc, missing, targets
from opwright.cuda.nvrtc.refusals import explain_error
from opwright.cuda.nvrtc.shadow_headers import ShadowFolders, shadow_folders
from opwright.errors import CompileError
from opwright.toolchain import Built, Options, Unit, build, header_dir
from opwright.toolchain.build.builder import look_up

_CALLS = "#include <opwright/nvrtc/calls.h>\n"
_FIRST = "#include <opwright/nvrtc/runtime.h>\n"


@dataclass(frozen=True)
class Nvrtc:
    """The back end that compiles CUDA with NVRTC, a part of PyTorch's CUDA wheels; no toolkit is needed.

    The C++ compiler builds the host half, NVRTC the device half. Kernels are launched through the driver, which is
    loaded at the first launch. The kernels are for the GPUs in ``TORCH_CUDA_ARCH_LIST``, by default for those of this
    machine.

    Attributes:
        options: further options for NVRTC, such as ``--use_fast_math``.
    """

    options: tuple[str, ...] = ()

    name: ClassVar[str] = "nvrtc"
    device: ClassVar[str] = "cuda"
    suffix: ClassVar[str] = ""

    def missing(self) -> str:
        """Return why NVRTC can't be used here, with a likely fix; "" if it can."""
        return missing()

    def build(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Path:
        """Return the library of `text` from the cache, or build it; with `rebuild`, always build, under a new name.

        Raises:
            CompileError: the C++ compiler or NVRTC refused the code; the message begins with the user's line.
            UnsupportedError: the code can't be split into two halves; the error suggests nvcc.
            ToolchainError: there is no NVRTC, or no C++ compiler.
        """
        return self.built(text, options, rebuild=rebuild).path

    def built(self, text: CudaText, options: Options, *, rebuild: bool = False) -> Built:
        """Build as `build` does; return the library with the compilers' messages."""
        half = HostHalf()
        unit, linked = self._request(text, options, half)
        try:
            return build(unit, linked, rebuild=rebuild)
        except CompileError as error:
            raise explain_error(error, frozenset(half.variables)) from None

    def look_up(self, text: CudaText, options: Options) -> Path | None:
        """Return the library of `text` if it is in the cache, else None."""
        return look_up(*self._request(text, options, HostHalf()))

    def _request(self, text: CudaText, options: Options, half: HostHalf) -> tuple[Unit, Options]:
        """Return the unit of a library, and the options that it is compiled with."""
        nvrtc = find_nvrtc()
        plain = Options(debug=options.debug, native=False, relocatable=True, identity=nvrtc.identity)
        calls = build(Unit("nvrtc-calls", _CALLS, cflags=_cuda_header_flags(nvrtc)), plain).path
        unit = self._unit(text, options, nvrtc, half, calls)
        return unit, dataclasses.replace(
            options, native=False, extra_ldflags=(*options.extra_ldflags, str(calls), "-ldl")
        )

    def _unit(self, text: CudaText, options: Options, nvrtc: Library, half: HostHalf, calls: Path) -> Unit:
        beside = Path(os.path.abspath(text.source)).parent
        folders = [os.path.abspath(folder) for folder in options.include_dirs]
        shadow = shadow_folders(text.text, beside, folders, nvrtc.include_dirs)
        device = DeviceHalf(
            nvrtc,
            targets(nvrtc),
            _preprocessing(options, nvrtc, shadow, beside),
            (f"-std={options.std}", *(("-G",) if options.debug else ("-lineinfo",)), *self.options),
            calls,
        )
        return Unit(
            text.name,
            _FIRST + text.text,
            text.source,
            embeds=True,
            cflags=(f"-I{shadow.host}", *_cuda_header_flags(nvrtc)),
            rewrite=half,
            addition=device,
            kernels=text.kernels,
        )


def _cuda_header_flags(nvrtc: Library) -> tuple[str, ...]:
    """Return the flags for CUDA's headers in the host half."""
    ours = header_dir() / "opwright" / "nvrtc"
    system = [word for folder in nvrtc.include_dirs for word in ("-isystem", folder)]
    return ("-DOPWRIGHT_NVRTC_HOST", *system, "-idirafter", str(ours / "fallback"))


def _preprocessing(options: Options, nvrtc: Library, shadow: ShadowFolders, beside: Path) -> tuple[str, ...]:
    """Return the preprocessor's flags for the device half: NVRTC's macros, and no standard library."""
    ours = header_dir() / "opwright" / "nvrtc"
    defines = [word for word in options.extra_cflags if word.startswith(("-D", "-U"))]
    macros = [
        *("__CUDACC__", "__CUDACC_RTC__", "__NVCC__", f"__{platform.machine()}__", "__LP64__", "__linux__"),
        *(f"__CUDACC_VER_MAJOR__={nvrtc.major}", "__CUDACC_VER_MINOR__=0"),
        *(f"CUDA_VERSION={nvrtc.major * 1000}", f"CUDART_VERSION={nvrtc.major * 1000}"),
    ]
    return (
        *(f"-std={options.std}", "-undef", "-nostdinc"),
        *(f"-D{macro}" for macro in (*macros, *options.define)),
        *defines,
        f"-iquote{beside}",
        *(f"-I{os.path.abspath(folder)}" for folder in options.include_dirs),
        *(f"-I{folder}" for folder in (header_dir(), shadow.device, ours / "device")),
    )
