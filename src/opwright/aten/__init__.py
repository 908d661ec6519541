"""ATen extensions: C++ and CUDA written for PyTorch's own headers, built by Opwright's toolchain.

Implements `opwright.cpp_extension`, which has PyTorch's names. Modules are imported at first use.
"""
