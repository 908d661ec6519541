/* For editors alone: .clangd of a project that `opwright new` made includes this before a .cu, which clang then reads as CUDA
 * over the emulated headers, so that no CUDA toolkit has to be there.
 *
 * Every function is host and device at once, and kernels are what `<<<...>>>` may launch. Nothing is compiled with this.
 */
#ifndef OPWRIGHT_EMULATION_EDITOR_H
#define OPWRIGHT_EMULATION_EDITOR_H

#if defined(__clang__) && defined(__CUDA__)
#pragma clang force_cuda_host_device begin
#include <opwright.h>
#include <opwright/caffe.h>

#undef __device__
#undef __host__
#define __device__
#define __host__
#define __shared__
#define __global__ __attribute__((global))
#define threadIdx (::opwright::emulation::thread_index())
#define blockIdx (::opwright::emulation::block_index())
#define blockDim (::opwright::emulation::block_size())
#define gridDim (::opwright::emulation::grid_size())

/* What clang makes of `<<<...>>>`. */
extern "C" int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = nullptr);
#endif

#endif
