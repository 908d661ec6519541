"""Headers of libraries: where those of CCCL (Thrust) are installed, and which library a missing one is of."""

from __future__ import annotations

import os
import re
from pathlib import Path

from opwright.errors import CompileError
from opwright.toolchain.compilers.nvcc import CUDA_HOME_VARIABLES, pip_folders

_LIBRARIES = {
    r"cusolver\w*": "cuSOLVER", r"cudnn\w*": "cuDNN", r"npp\w*": "NPP", r"nvjpeg\w*": "nvJPEG", "nvrtc": "NVRTC",
    r"cutensor\w*": "cuTENSOR", r"nvshmem\w*": "NVSHMEM", "nvml|nvidia-ml": "NVML", r"cupti\w*": "CUPTI",
    "cublasXt": "cuBLAS's interface for several GPUs", "cufftXt": "cuFFT's interface for several GPUs",
    "nvJitLink": "nvJitLink", "cufftw": "cuFFT's interface of FFTW", "cusparseLt": "cuSPARSELt", "cufile": "cuFile",
    r"cuda_pipeline\w*": "CUDA's pipeline of asynchronous copies", "cuda_fp[46]": "arithmetic of 4 and 6 bits",
    r"cuda_?(?:gl|egl|vdpau)_?\w*": "CUDA's interface to graphics", "(?:cutlass|cute)/.*": "CUTLASS",
}  # fmt: skip
_OF_SAMPLES = re.compile(
    r"helper_(?:cuda|cuda_drvapi|cusolver|functions|gl|image|math|multiprocess|nvJPEG|string|timer)\.h"
)
_MISSING = re.compile(r"(?:error: (?P<gcc>\S+): No such file|'(?P<clang>[^'\n]+)' file not found)")
_DRIVER_TYPES = (
    r"result|device(?:ptr)?|context|module|function|library|kernel|array|stream|event|graph\w*|"
    r"(?:ctx_|tex|surf|link|jit|mem)\w+"
)
_DRIVER_CALLS = (
    "Init|Get|Driver|Device|Ctx|Module|Func|Launch|Mem|Array|Tex|Surf|Link|Library|Stream|Event|Graph|Pointer|Ipc"
)
_OF_DRIVER = re.compile(
    rf"error: [^'\n]*'(CUDA_SUCCESS|CU(?:{_DRIVER_TYPES})|cu(?:{_DRIVER_CALLS})\w*)'(?!.*did you mean '(?!cu|CU))"
)
_OF_CCCL = ("thrust/", "cuda/std/", "cuda/functional", "cuda/atomic", "cuda/barrier", "nv/target")
THRUST = "THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"
"""The macro with which Thrust's device is the host."""


def cccl_dir() -> str:
    """Return the folder of CCCL's headers (pip's nvidia-cuda-cccl, or a CUDA toolkit's); "" if there is none."""
    homes = [os.environ[name] for name in CUDA_HOME_VARIABLES if os.environ.get(name)]
    wheels = [f"{folder}/include" for folder in pip_folders("cuda_cccl")]
    candidates = [*(f"{home}/include/cccl" for home in [*homes, *pip_folders("cu[0-9]*")]), *wheels]
    return next((each for each in candidates if (Path(each) / "cuda/std/__cccl/compiler.h").is_file()), "")


def not_emulated(name: str) -> str:
    """Return which library of CUDA's a header (``cudnn``) or a file (``cudnn_static``) is of; "" if it is emulated."""
    stem = name.removesuffix("_static")
    return next((of for each, of in _LIBRARIES.items() if re.fullmatch(each, stem, re.IGNORECASE)), "")


def explained(error: CompileError) -> CompileError:
    """Return an error that says which library a missing header or name is of, and what to do; or the same error."""
    text = str(error)
    found = _MISSING.search(text)
    header = (found["gcc"] or found["clang"]) if found else ""
    first, _, rest = text.partition("\n")
    if driver := _OF_DRIVER.search(first):
        what = (
            f"{driver[1]} is of CUDA's driver API, which isn't emulated: there is no code for GPUs that it could load"
        )
        fix = "the runtime API: cudaMalloc, cudaMemcpy, kernel<<<...>>>(...)"
        return CompileError(f"{first}\n  {what}\n  likely fix: {fix}\n{rest}")
    if header.startswith(_OF_CCCL):
        return CompileError(
            f"{first}\n  {header} is CCCL's, which isn't installed\n  likely fix: pip install nvidia-cuda-cccl\n{rest}"
        )
    if not header or "likely fix" in text:
        return error
    if of := not_emulated(header.removesuffix(".h")):
        what, fix = f"{of} isn't emulated", "leave that part out with #ifndef OPWRIGHT_EMULATION, or run it on a GPU"
    elif _OF_SAMPLES.fullmatch(header):
        what = f"{header} is of CUDA's samples, which aren't a part of the toolkit"
        fix = "a checkout of github.com/NVIDIA/cuda-samples, and -I with its folder Common"
    else:
        what = f"{header} is in no folder that is searched"
        fix = "-I with its folder (extra_include_paths of load); the library that it is of may have to be installed"
    return CompileError(f"{first}\n  {what}\n  likely fix: {fix}\n{rest}")
