"""Headers ask by the include guards of CUDA's own headers which ones are there, as those of CUDA's samples do."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from tests.cuda.programs.conftest import Command

ALWAYS = """
__CUDA_RUNTIME_H__ __CUDA_RUNTIME_API_H__ __DRIVER_TYPES_H__ __VECTOR_TYPES_H__ __VECTOR_FUNCTIONS_H__
__HOST_DEFINES_H__ __TEXTURE_TYPES_H__ __SURFACE_TYPES_H__ __LIBRARY_TYPES_H__ __CHANNEL_DESCRIPTOR_H__
__DEVICE_TYPES_H__ __DEVICE_LAUNCH_PARAMETERS_H__ __MATH_FUNCTIONS_H__ __DEVICE_FUNCTIONS_H__
"""
INCLUDED = {
    "cublas_v2.h": "CUBLAS_V2_H_ CUBLAS_API_H_",
    "cufft.h": "_CUFFT_H_",
    "cusparse.h": "CUSPARSE_H_ CUSPARSEAPI",
    "curand.h": "CURAND_H_",
    "curand_kernel.h": "CURAND_KERNEL_H_",
    "cuComplex.h": "CU_COMPLEX_H_",
    "cuda_fp16.h": "__CUDA_FP16_H__",
    "cuda_bf16.h": "__CUDA_BF16_H__",
    "cuda_fp8.h": "__CUDA_FP8_H__",
    "cooperative_groups.h": "_COOPERATIVE_GROUPS_H_",
    "math_constants.h": "__MATH_CONSTANTS_H__",
}


def missing(guards: str) -> str:
    return "".join(f"#ifndef {guard}\n#error {guard} is missing\n#endif\n" for guard in guards.split())


@pytest.mark.slow
def test_they_are_defined(files: Callable[..., None], command: Command) -> None:
    before = "".join(f"#ifdef {each.split()[0]}\n#error {each}\n#endif\n" for each in ("CUBLAS_V2_H_", "_CUFFT_H_"))
    included = "".join(f"#include <{header}>\n{missing(guards)}" for header, guards in INCLUDED.items())
    files(**{"main.cu": before + missing(ALWAYS) + included + "int main() {}\n"})
    assert command("emulate", "main.cu") == (0, "", "")


@pytest.mark.slow
def test_those_of_the_device_arent_the_hosts(files: Callable[..., None], command: Command) -> None:
    """As with CUDA's own headers and g++."""
    device = "__MATH_FUNCTIONS_H__ __DEVICE_FUNCTIONS_H__ __DEVICE_LAUNCH_PARAMETERS_H__ __SM_60_ATOMIC_FUNCTIONS_H__"
    refused = "".join(f"#ifdef {each}\n#error {each}\n#endif\n" for each in device.split())
    files(**{"host.cpp": "#include <cuda_runtime.h>\n" + refused + missing("__DRIVER_TYPES_H__ __VECTOR_TYPES_H__")})
    assert command("nvcc", "-c", "host.cpp") == (0, "", "")


@pytest.mark.slow
def test_a_header_with_a_function_for_each_library(files: Callable[..., None], command: Command) -> None:
    """As in CUDA's samples: its functions for errors are there for the headers that were included before it."""
    header = """
    #ifdef __DRIVER_TYPES_H__
    const char *name(cudaError_t error) { return cudaGetErrorName(error); }
    #endif
    #ifdef CUBLAS_API_H_
    const char *name(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS ? "success" : "another"; }
    #endif
    #ifdef CURAND_H_
    const char *name(curandStatus_t) { return "none"; }
    #endif
    """
    main = """
    #include <cublas_v2.h>
    #include "names.h"
    int main() { printf("%s %s\\n", name(cudaErrorInvalidValue), name(CUBLAS_STATUS_SUCCESS)); }
    """
    files(**{"names.h": textwrap.dedent(header), "main.cu": textwrap.dedent(main)})
    assert command("emulate", "main.cu") == (0, "cudaErrorInvalidValue success\n", "")


@pytest.mark.slow
def test_code_of_the_host_may_define_functions_of_the_device(files: Callable[..., None], command: Command) -> None:
    """As the samples' helper_math.h does where nvcc isn't the compiler."""
    host = """
    #include <cuda_runtime.h>
    #ifndef __CUDACC__
    inline float fminf(float a, float b) { return a < b ? a : b; }
    inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
    #endif
    float least(float a, float b) { return fminf(a, rsqrtf(b)); }
    """
    main = """
    float least(float a, float b);
    int main() { printf("%g\\n", least(3, 4)); }
    """
    files(**{"host.cpp": textwrap.dedent(host), "main.cu": textwrap.dedent(main)})
    assert command("emulate", "-O2", "host.cpp", "main.cu") == (0, "0.5\n", "")
