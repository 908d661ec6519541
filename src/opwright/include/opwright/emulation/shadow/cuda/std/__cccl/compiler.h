/* CCCL is to take the compiler for one of C++, which it is. */
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include_next <cuda/std/__cccl/compiler.h>
#pragma pop_macro("__CUDACC__")
