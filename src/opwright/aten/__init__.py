"""ATen extensions: C++ and CUDA written for PyTorch's own headers, built by Opwright's toolchain.

What `opwright.cpp_extension` offers under PyTorch's names. Nothing here is imported before it is asked for.
"""
