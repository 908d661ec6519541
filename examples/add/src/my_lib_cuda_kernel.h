#ifndef MY_LIB_CUDA_KERNEL_H
#define MY_LIB_CUDA_KERNEL_H

#include <cuda_runtime.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C"
#endif
int my_lib_add_launch(const float *a, const float *b, float *sum, ptrdiff_t count, cudaStream_t stream);

#endif
