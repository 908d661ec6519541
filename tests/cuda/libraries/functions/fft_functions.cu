#include <cufft.h>
typedef int64_t I;
/* Each axis of `n` in sequence; layouts as for cufftPlanMany, or packed where `embed` is null. */
EXPORT int transformed(I type, I rank, int *n, int *inembed, I istride, I idist, int *onembed, I ostride, I odist,
                       I batch, void *from, void *to, I direction) {
  cufftHandle plan;
  if (const int status = cufftPlanMany(&plan, rank, n, inembed, istride, idist, onembed, ostride, odist,
                                       cufftType(type), batch)) return status;
  cufftSetStream(plan, 0);
  int status = 100;
  if (type == CUFFT_C2C) status = cufftExecC2C(plan, (cufftComplex *)from, (cufftComplex *)to, direction);
  if (type == CUFFT_Z2Z) status = cufftExecZ2Z(plan, (cufftDoubleComplex *)from, (cufftDoubleComplex *)to, direction);
  if (type == CUFFT_R2C) status = cufftExecR2C(plan, (float *)from, (cufftComplex *)to);
  if (type == CUFFT_D2Z) status = cufftExecD2Z(plan, (double *)from, (cufftDoubleComplex *)to);
  if (type == CUFFT_C2R) status = cufftExecC2R(plan, (cufftComplex *)from, (float *)to);
  if (type == CUFFT_Z2D) status = cufftExecZ2D(plan, (cufftDoubleComplex *)from, (double *)to);
  return status | cufftDestroy(plan);
}
EXPORT int refused() {
  cufftHandle plan, unmade;
  float *device;
  cudaMalloc(&device, 60);
  if (cufftPlan1d(&plan, 0, CUFFT_C2C, 1) != CUFFT_INVALID_SIZE) return 1;
  if (cufftPlan1d(&plan, 8, cufftType(7), 1) != CUFFT_INVALID_TYPE) return 2;
  if (cufftPlan1d(&plan, 8, CUFFT_C2C, 1)) return 3;
  if (cufftExecR2C(plan, device, (cufftComplex *)device) != CUFFT_INVALID_TYPE) return 4;
  if (cufftExecC2C(plan, (cufftComplex *)device, (cufftComplex *)device, CUFFT_FORWARD) != CUFFT_EXEC_FAILED) return 5;
  if (cudaGetLastError() != cudaErrorIllegalAddress) return 6;
  if (cufftExecC2C(plan, nullptr, nullptr, CUFFT_FORWARD) != CUFFT_INVALID_VALUE) return 7;
  if (cufftDestroy(plan) || cufftDestroy(plan) != CUFFT_INVALID_PLAN) return 8;
  if (cufftCreate(&unmade) ||
      cufftExecC2C(unmade, (cufftComplex *)device, (cufftComplex *)device, CUFFT_FORWARD) != CUFFT_INVALID_PLAN) return 9;
  size_t work = 1;
  if (cufftMakePlan2d(unmade, 2, 3, CUFFT_C2C, &work) || work || cufftDestroy(unmade)) return 10;
  return cudaFree(device);
}
