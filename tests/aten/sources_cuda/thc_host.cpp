#include <torch/extension.h>

#include <ATen/cuda/CUDAStream.h>
#include <THC/THC.h>

extern THCState *state;

cudaStream_t current(at::Tensor x) {
  AT_CHECK(x.type().is_cuda(), "x must be a CUDA tensor");
  THCudaCheck(cudaGetLastError());
  c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  return x.numel() ? THCState_getCurrentStream(state) : stream.stream();
}
