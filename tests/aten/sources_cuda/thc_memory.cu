#include <ATen/ATen.h>
#include <THC/THC.h>
#include <THC/THCGeneral.h>

extern THCState *state;

int64_t first_cuda(const at::Tensor &x) {
  AT_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  THCState *mine = at::globalContext().lazyInitCUDA();
  float *copy = (float *)THCudaMalloc(mine, x.numel() * sizeof(float));
  THCudaCheck(cudaMemcpyAsync(copy, x.data<float>(), x.numel() * sizeof(float), cudaMemcpyDeviceToDevice,
                              THCState_getCurrentStream(state)));
  float result = 0;
  THCudaCheck(cudaMemcpy(&result, copy, sizeof(float), cudaMemcpyDeviceToHost));
  THCudaFree(mine, copy);
  return static_cast<int64_t>(result) + THCRoundUp(3, 2);
}
