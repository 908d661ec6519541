#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGuard.h>
#include <ATen/cuda/CUDAContext.h>
#include <THC/THC.h>
#include <THC/THCBlas.h>

extern THCState *state;

void product_cuda(at::Tensor a, at::Tensor b, at::Tensor c, const float **as, const float **bs, float **cs) {
  at::cuda::CUDAGuard guard(a.device());
  int64_t m = c.size(1), n = c.size(0), k = a.size(1);
  THCudaBlas_Sgemm(state, 't', 'n', m, n, k, 1.0f, b.data<float>(), k, a.data<float>(), k, 0.0f, c.data<float>(), m);
  THCudaBlas_Sgemv(state, 't', k, m, 1.0f, b.data<float>(), k, a.data<float>(), 1, 0.0f, c.data<float>(), 1);
  THCudaBlas_SgemmBatched(state, 't', 'n', m, n, k, 1.0f, as, k, bs, k, 0.0f, cs, m, 2);
  THCudaBlas_DgemmStridedBatched(state, 'n', 'n', 2, 2, 2, 1.0, a.data<double>(), 2, 4, b.data<double>(), 2, 4, 0.0,
                                 c.data<double>(), 2, 4, 3);
  cublasHandle_t handle = THCState_getCurrentBlasHandle(state);
  TORCH_CHECK(handle && THCState_getCurrentDeviceProperties(state)->major > 0 && THCState_getNumDevices(state) > 0);
}
