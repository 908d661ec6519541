"""Builds the extension forms of LLTM ahead of time: ``pip install . --no-build-isolation``."""

from __future__ import annotations

from setuptools import setup

from opwright.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

extensions = [CppExtension("lltm_aten", ["lltm_aten.cpp"])]
if CUDA_HOME is not None:
    extensions.append(CUDAExtension("lltm_cuda", ["lltm_cuda.cpp", "lltm_cuda_kernel.cu"]))

setup(
    name="lltm",
    version="0.1",
    py_modules=["lltm_extension"],
    ext_modules=extensions,
    cmdclass={"build_ext": BuildExtension},
)
