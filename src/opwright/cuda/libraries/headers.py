"""Headers of libraries: where those of CCCL (Thrust) are installed, and which library a missing one is of."""

from __future__ import annotations

import os
import re
from pathlib import Path

from opwright.errors import CompileError
from opwright.toolchain.compilers.nvcc import CUDA_HOME_VARIABLES, pip_folders

_LIBRARIES = {
    "cublasXt": "cuBLAS's interface for several GPUs", "cusolverDn": "cuSOLVER",
    "cusolverSp": "cuSOLVER", "cufftXt": "cuFFT's interface for several GPUs", "cudnn": "cuDNN", "nvshmem": "NVSHMEM",
    "nvml": "NVML", "cupti": "CUPTI", "nvrtc": "NVRTC", "npp": "NPP", "nvjpeg": "nvJPEG", "cutensor": "cuTENSOR",
}  # fmt: skip
_MISSING = re.compile(r"(?:error: (?P<gcc>\S+): No such file|'(?P<clang>[^'\n]+)' file not found)")
_OF_CCCL = ("thrust/", "cuda/std/", "cuda/functional", "cuda/atomic", "cuda/barrier", "nv/target")
THRUST = "THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"
"""The macro with which Thrust's device is the host."""


def cccl_dir() -> str:
    """Return the folder of CCCL's headers (pip's nvidia-cuda-cccl, or a CUDA toolkit's); "" if there is none."""
    homes = [os.environ[name] for name in CUDA_HOME_VARIABLES if os.environ.get(name)]
    wheels = [f"{folder}/include" for folder in pip_folders("cuda_cccl")]
    candidates = [*(f"{home}/include/cccl" for home in [*homes, *pip_folders("cu[0-9]*")]), *wheels]
    return next((each for each in candidates if (Path(each) / "cuda/std/__cccl/compiler.h").is_file()), "")


def explained(error: CompileError) -> CompileError:
    """Return an error that says which library a missing header is of, and what to do; or the same error."""
    text = str(error)
    found = _MISSING.search(text)
    header = (found["gcc"] or found["clang"]) if found else ""
    first, _, rest = text.partition("\n")
    if header.startswith(_OF_CCCL):
        return CompileError(
            f"{first}\n  {header} is CCCL's, which isn't installed\n  likely fix: pip install nvidia-cuda-cccl\n{rest}"
        )
    library = _LIBRARIES.get(header.removesuffix(".h"))
    if not library:
        return error
    return CompileError(
        f"{first}\n  {library} isn't emulated\n"
        f"  likely fix: leave that part out with #ifndef OPWRIGHT_EMULATION, or run it on a GPU\n{rest}"
    )
