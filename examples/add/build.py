"""The script form: `python build.py` compiles the C code to _ext/my_lib."""

import os

import torch
from torch.utils.ffi import create_extension

here = os.path.dirname(os.path.abspath(__file__))

headers = ["src/my_lib.h"]
sources = ["src/my_lib.c"]
objects = []
macros = []
with_cuda = torch.cuda.is_available()

if with_cuda:
    headers += ["src/my_lib_cuda.h"]
    sources += ["src/my_lib_cuda.c"]
    objects += [os.path.join(here, "src/my_lib_cuda_kernel.cu.o")]
    macros += [("WITH_CUDA", None)]
    os.system(
        f'cd "{here}/src" && nvcc -c my_lib_cuda_kernel.cu -o my_lib_cuda_kernel.cu.o -Xcompiler -fPIC -arch=sm_52'
    )

ffi = create_extension(
    "_ext.my_lib",
    headers=headers,
    sources=sources,
    define_macros=macros,
    extra_objects=objects,
    extra_compile_args=["-std=c99"],
    relative_to=__file__,
    with_cuda=with_cuda,
)

if __name__ == "__main__":
    ffi.build()
