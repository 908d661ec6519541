/* cuFFT, on the CPU: computed in double, rounded once. */
#ifndef OPWRIGHT_EMULATION_CUFFT_H
#define OPWRIGHT_EMULATION_CUFFT_H
#define _CUFFT_H_ /* CUDA's own include guard */

#include "cuda_runtime.h"

#include "../libraries/fft.h"

#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
#define CUFFT_VERSION 11300
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;

#define OPWRIGHT_CUFFT ::opwright::emulation::fft

inline cufftResult cufftCreate(cufftHandle *plan) { return OPWRIGHT_CUFFT::create(plan); }
inline cufftResult cufftDestroy(cufftHandle plan, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUFFT::destroy(plan, {"cufftDestroy", file, line});
}
inline cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUFFT::stream(plan, stream, {"cufftSetStream", file, line});
}
inline cufftResult cufftGetVersion(int *version) {
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}
inline cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist,
                                     int *onembed, int ostride, int odist, cufftType type, int batch, size_t *work) {
  if (rank < 1 || rank > 3 || !n) return CUFFT_INVALID_VALUE;
  OPWRIGHT_CUFFT::Layout in{{}, istride, idist}, out{{}, ostride, odist};
  long long sizes[3];
  for (int i = 0; i < rank; ++i) {
    sizes[i] = n[i];
    if (inembed) in.embedded[i] = inembed[i];
    if (onembed) out.embedded[i] = onembed[i];
  }
  if (work) *work = 0;
  const bool packed = !inembed || !onembed;
  return OPWRIGHT_CUFFT::plan(plan, rank, sizes, packed ? nullptr : &in, packed ? nullptr : &out, type, batch);
}
inline cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *work) {
  return cufftMakePlanMany(plan, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, work);
}
inline cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *work) {
  int n[] = {nx, ny};
  return cufftMakePlanMany(plan, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, work);
}
inline cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *work) {
  int n[] = {nx, ny, nz};
  return cufftMakePlanMany(plan, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, work);
}
inline cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist,
                                 int *onembed, int ostride, int odist, cufftType type, int batch,
                                 OPWRIGHT_EMULATION_HERE) {
  const cufftResult made = cufftCreate(plan);
  if (made != CUFFT_SUCCESS) return made;
  const cufftResult result =
      cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, nullptr);
  if (result != CUFFT_SUCCESS) cufftDestroy(*plan, file, line);
  return result;
}
inline cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch, OPWRIGHT_EMULATION_HERE) {
  return cufftPlanMany(plan, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, file, line);
}
inline cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type, OPWRIGHT_EMULATION_HERE) {
  int n[] = {nx, ny};
  return cufftPlanMany(plan, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, file, line);
}
inline cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type, OPWRIGHT_EMULATION_HERE) {
  int n[] = {nx, ny, nz};
  return cufftPlanMany(plan, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, file, line);
}
#define OPWRIGHT_CUFFT_EXEC(kind, From, To)                                                                          \
  inline cufftResult cufftExec##kind(cufftHandle plan, From *from, To *to, int direction, OPWRIGHT_EMULATION_HERE) { \
    return OPWRIGHT_CUFFT::execute(plan, CUFFT_##kind, from, to, direction == CUFFT_INVERSE,                         \
                                   {"cufftExec" #kind, file, line});                                                 \
  }
OPWRIGHT_CUFFT_EXEC(C2C, cufftComplex, cufftComplex)
OPWRIGHT_CUFFT_EXEC(Z2Z, cufftDoubleComplex, cufftDoubleComplex)
#undef OPWRIGHT_CUFFT_EXEC
#define OPWRIGHT_CUFFT_EXEC(kind, From, To, inverse)                                                        \
  inline cufftResult cufftExec##kind(cufftHandle plan, From *from, To *to, OPWRIGHT_EMULATION_HERE) {       \
    return OPWRIGHT_CUFFT::execute(plan, CUFFT_##kind, from, to, inverse, {"cufftExec" #kind, file, line}); \
  }
OPWRIGHT_CUFFT_EXEC(R2C, cufftReal, cufftComplex, false)
OPWRIGHT_CUFFT_EXEC(D2Z, cufftDoubleReal, cufftDoubleComplex, false)
OPWRIGHT_CUFFT_EXEC(C2R, cufftComplex, cufftReal, true)
OPWRIGHT_CUFFT_EXEC(Z2D, cufftDoubleComplex, cufftDoubleReal, true)
#undef OPWRIGHT_CUFFT_EXEC
#undef OPWRIGHT_CUFFT

#endif
