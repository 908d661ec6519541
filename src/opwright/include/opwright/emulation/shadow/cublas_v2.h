/* cuBLAS's functions, on the CPU: by PyTorch's BLAS or another one (src/opwright/cuda/libraries/blas). */
#ifndef OPWRIGHT_EMULATION_CUBLAS_V2_H
#define OPWRIGHT_EMULATION_CUBLAS_V2_H
#define CUBLAS_V2_H_ /* CUDA's own include guards */
#define CUBLAS_API_H_

#include "cuda_runtime.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include "../libraries/blas.h"

#define OPWRIGHT_CUBLAS_BLAS ::opwright::emulation::blas
#define OPWRIGHT_CUBLAS(name, ...) \
  inline cublasStatus_t name(cublasHandle_t handle, __VA_ARGS__, OPWRIGHT_EMULATION_HERE)
#define OPWRIGHT_CUBLAS_CALL(name) \
  ::opwright::emulation::blas::Call { handle, #name, file, line }

inline cublasStatus_t cublasCreate(cublasHandle_t *handle) { return OPWRIGHT_CUBLAS_BLAS::create(handle); }
inline cublasStatus_t cublasDestroy(cublasHandle_t handle, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::destroy(OPWRIGHT_CUBLAS_CALL(cublasDestroy));
}
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
inline const char *cublasGetStatusName(cublasStatus_t status) { return OPWRIGHT_CUBLAS_BLAS::status_name(status); }
inline const char *cublasGetStatusString(cublasStatus_t status) { return OPWRIGHT_CUBLAS_BLAS::status_text(status); }
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int *version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
#define cublasGetVersion_v2 cublasGetVersion

#define OPWRIGHT_CUBLAS_FIELD(Name, T, field)                                                \
  OPWRIGHT_CUBLAS(cublasSet##Name, T value) {                                                \
    return OPWRIGHT_CUBLAS_BLAS::field(OPWRIGHT_CUBLAS_CALL(cublasSet##Name), &value, true); \
  }                                                                                          \
  OPWRIGHT_CUBLAS(cublasGet##Name, T *value) {                                               \
    return OPWRIGHT_CUBLAS_BLAS::field(OPWRIGHT_CUBLAS_CALL(cublasGet##Name), value, false); \
  }
OPWRIGHT_CUBLAS_FIELD(Stream, cudaStream_t, stream)
OPWRIGHT_CUBLAS_FIELD(PointerMode, cublasPointerMode_t, pointer_mode)
OPWRIGHT_CUBLAS_FIELD(MathMode, cublasMath_t, math_mode)
OPWRIGHT_CUBLAS_FIELD(AtomicsMode, cublasAtomicsMode_t, atomics_mode)
#undef OPWRIGHT_CUBLAS_FIELD
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasGetPointerMode_v2 cublasGetPointerMode
OPWRIGHT_CUBLAS(cublasSetWorkspace, void *, size_t) {
  (void)file, (void)line;
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* One for each element type: the letter, the type, its number, the compute type, the letters and type of norms. */
#define OPWRIGHT_CUBLAS_REAL(X)                         \
  X(S, float, CUDA_R_32F, CUBLAS_COMPUTE_32F, S, float) \
  X(D, double, CUDA_R_64F, CUBLAS_COMPUTE_64F, D, double)
#define OPWRIGHT_CUBLAS_COMPLEX(X)                           \
  X(C, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F, Sc, float) \
  X(Z, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F, Dz, double)
#define OPWRIGHT_CUBLAS_EACH(X) OPWRIGHT_CUBLAS_REAL(X) OPWRIGHT_CUBLAS_COMPLEX(X)

#include "../libraries/blas_vectors.h"
#include "../libraries/blas_matrices.h"
#include "../libraries/blas_batches.h"

#undef OPWRIGHT_CUBLAS
#undef OPWRIGHT_CUBLAS_CALL
#undef OPWRIGHT_CUBLAS_REAL
#undef OPWRIGHT_CUBLAS_COMPLEX
#undef OPWRIGHT_CUBLAS_EACH
#undef OPWRIGHT_CUBLAS_BLAS

#endif
