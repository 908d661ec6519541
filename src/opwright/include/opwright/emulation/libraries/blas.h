/* What stands behind cuBLAS's functions: one function for all element types. Matrices are column-major. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_BLAS_H
#define OPWRIGHT_EMULATION_LIBRARIES_BLAS_H

#include "blas_types.h"

namespace opwright {
namespace emulation {
namespace blas {

typedef long long Index;

struct Call {
  cublasHandle_t handle;
  const char *name, *file;
  int line;
};

/* A matrix, or a vector: one row whose elements are `ld` apart (a negative `ld` goes backwards, as in BLAS). Of a batch, `stride`
 * elements lie between matrices, or `data` points to an array of pointers to them. */
struct Operand {
  const void *data;
  cudaDataType type;
  Index ld;
  Index stride = 0;
  bool pointers = false;
};
/* alpha, beta and results: where the pointer mode says. */
typedef const void *Scalar;

struct Shape { Index m, n, k, batch; };

cublasStatus_t create(cublasHandle_t *handle);
cublasStatus_t destroy(const Call &call);
const char *status_name(cublasStatus_t status);
const char *status_text(cublasStatus_t status);
/* One field of the handle: read, or written. */
cublasStatus_t stream(const Call &call, cudaStream_t *value, bool set);
cublasStatus_t pointer_mode(const Call &call, cublasPointerMode_t *value, bool set);
cublasStatus_t math_mode(const Call &call, cublasMath_t *value, bool set);
cublasStatus_t atomics_mode(const Call &call, cublasAtomicsMode_t *value, bool set);

/* C = alpha op(A) op(B) + beta C. */
cublasStatus_t gemm(const Call &call, cublasOperation_t ta, cublasOperation_t tb, const Shape &shape, Scalar alpha,
                    const Operand &a, const Operand &b, Scalar beta, const Operand &c, cublasComputeType_t compute);
/* For the compute type that a cudaDataType means. */
cublasComputeType_t compute_of(cudaDataType type);

/* Vectors, computed in `compute`, the type of alpha and of results. */
cublasStatus_t axpy(const Call &call, Index n, Scalar alpha, const Operand &x, const Operand &y, cudaDataType compute);
cublasStatus_t dot(const Call &call, Index n, const Operand &x, const Operand &y, bool conjugate, void *result,
                   cudaDataType result_type, cudaDataType compute);
cublasStatus_t scal(const Call &call, Index n, Scalar alpha, cudaDataType alpha_type, const Operand &x,
                    cudaDataType compute);
enum class Norm { two, one };
cublasStatus_t norm(const Call &call, Norm which, Index n, const Operand &x, void *result, cudaDataType result_type,
                    cudaDataType compute);
/* The index, counted from 1, of the first largest (or smallest) absolute value. */
cublasStatus_t extreme(const Call &call, bool largest, Index n, const Operand &x, void *result, bool wide);
cublasStatus_t copy(const Call &call, Index n, const Operand &x, const Operand &y, bool swap);
cublasStatus_t rot(const Call &call, Index n, const Operand &x, const Operand &y, Scalar c, Scalar s);

/* Matrices. */
cublasStatus_t gemv(const Call &call, cublasOperation_t t, Index m, Index n, Scalar alpha, const Operand &a,
                    const Operand &x, Scalar beta, const Operand &y);
cublasStatus_t ger(const Call &call, Index m, Index n, Scalar alpha, const Operand &x, const Operand &y, bool conjugate,
                   const Operand &a);
cublasStatus_t symv(const Call &call, cublasFillMode_t fill, Index n, Scalar alpha, const Operand &a, const Operand &x,
                    Scalar beta, const Operand &y);
cublasStatus_t geam(const Call &call, cublasOperation_t ta, cublasOperation_t tb, Index m, Index n, Scalar alpha,
                    const Operand &a, Scalar beta, const Operand &b, const Operand &c);
cublasStatus_t dgmm(const Call &call, cublasSideMode_t side, Index m, Index n, const Operand &a, const Operand &x,
                    const Operand &c);
struct Triangle {
  cublasSideMode_t side;
  cublasFillMode_t fill;
  cublasOperation_t op;
  cublasDiagType_t diagonal;
};
/* Solves op(A) X = alpha B or X op(A) = alpha B; X takes B's place. A vector is a matrix of one column. */
cublasStatus_t trsm(const Call &call, const Triangle &triangle, Index m, Index n, Scalar alpha, const Operand &a,
                    const Operand &b, Index batch);
cublasStatus_t syrk(const Call &call, cublasFillMode_t fill, cublasOperation_t t, Index n, Index k, Scalar alpha,
                    const Operand &a, Scalar beta, const Operand &c, bool hermitian);

/* Batches of small systems. */
cublasStatus_t getrf(const Call &call, Index n, const Operand &a, int *pivots, int *info, Index batch);
cublasStatus_t getri(const Call &call, Index n, const Operand &a, const int *pivots, const Operand &c, int *info,
                     Index batch);
cublasStatus_t getrs(const Call &call, cublasOperation_t t, Index n, Index columns, const Operand &a, const int *pivots,
                     const Operand &b, int *info, Index batch);
cublasStatus_t matinv(const Call &call, Index n, const Operand &a, const Operand &inverse, int *info, Index batch);
cublasStatus_t gels(const Call &call, cublasOperation_t t, Index m, Index n, Index columns, const Operand &a,
                    const Operand &c, int *info, int *singular, Index batch);

/* Between host and device, one vector or matrix. */
cublasStatus_t transfer(Index rows, Index columns, Index bytes, const void *from, Index from_ld, void *to, Index to_ld,
                        const Called &called);

}  // namespace blas
}  // namespace emulation
}  // namespace opwright
#endif
