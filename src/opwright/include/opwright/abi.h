/* The C ABI between a kernel library and the runtime that calls it.
 *
 * A kernel library exports one symbol, `opwright_library`. The runtime calls it once after
 * loading, hands over its host services, and gets back the table of kernels. Nothing else
 * crosses: no exception, no allocator, no C++ type, no symbol of torch or of Python.
 *
 * Rules of the version: fields are only ever added at the end of a struct whose first member
 * is its size; everything else needs a new OPWRIGHT_ABI_VERSION. A runtime refuses a library
 * of another version by name.
 */
#ifndef OPWRIGHT_ABI_H
#define OPWRIGHT_ABI_H

#include <stddef.h>
#include <stdint.h>

#define OPWRIGHT_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* Element types carry the numbers of c10::ScalarType, which PyTorch keeps stable. */
enum opw_dtype {
  OPW_U8 = 0, OPW_I8 = 1, OPW_I16 = 2, OPW_I32 = 3, OPW_I64 = 4, OPW_F16 = 5, OPW_F32 = 6, OPW_F64 = 7,
  OPW_C64 = 9, OPW_C128 = 10, OPW_BOOL = 11, OPW_BF16 = 15, OPW_U16 = 27, OPW_U32 = 28, OPW_U64 = 29
};

/* One tensor argument. Sizes and strides count elements and live as long as the call. */
typedef struct opw_tensor {
  void *data;             /* the first element; may be NULL when numel is 0 */
  const int64_t *sizes;   /* ndim of them */
  const int64_t *strides; /* ndim of them */
  int64_t numel;
  int32_t ndim;
  int32_t dtype;          /* enum opw_dtype */
  int32_t present;        /* 0: an optional argument not given, a gradient or a residual not wanted */
  int32_t reserved;
} opw_tensor;

/* One scalar argument: `f` for float, `i` for int and bool. */
typedef union opw_scalar {
  double f;
  int64_t i;
} opw_scalar;

/* The random numbers of one call: a Philox key and counter. */
typedef struct opw_rng {
  uint64_t seed, offset;
  const int64_t *seed_pointer, *offset_pointer; /* where they are instead, under CUDA graph capture; NULL otherwise */
} opw_rng;

/* One call of a kernel. Tensors: inputs, outputs, residuals, each in signature order. A result with axes whose length the
 * kernel decides (?K) comes without memory, those sizes being -1; with a bound (?K<=N) it has memory for the bound. */
typedef struct opw_call {
  size_t size;               /* sizeof(opw_call) where it was made */
  const opw_tensor *tensors;
  const opw_scalar *scalars; /* in signature order */
  const int64_t *axes;       /* the signature's named axes, in order of first appearance */
  void *stream;              /* cudaStream_t on CUDA, NULL on the CPU */
  int32_t device_index;
  int32_t reserved;
  void (*fail)(void *context, const char *text, size_t length); /* takes a copy of the text of a failure */
  void *fail_context;
  const opw_rng *rng; /* NULL where the signature has no generator */
  /* Decides the lengths of tensor `index`'s own kernel-decided axes, in the order of its axes: gives it memory (where it has a
   * bound, keeps what it has) and its sizes. 0, or: 1 a length is negative or beyond the bound, 2 another result of the call
   * has another length for the same axis, 3 there is no memory. A second time for the same tensor is 2 unless it agrees. */
  int32_t (*resize)(void *context, int32_t index, const int64_t *lengths);
  void *resize_context;
} opw_call;

/* What the runtime does for kernels. Every function may be called from any thread. */
typedef struct opw_host {
  size_t size; /* sizeof(opw_host) where it was made */
  int32_t abi_version;
  int32_t reserved;
  /* Calls body(context, begin, end) over disjoint pieces of [begin, end), none shorter than `grain` where that can be
   * helped, on PyTorch's own thread pool; returns when all are done. `body` must not throw. */
  void (*parallel_for)(int64_t begin, int64_t end, int64_t grain, void (*body)(void *context, int64_t begin, int64_t end),
                       void *context);
  int32_t (*num_threads)(void);
  /* Workspace memory, aligned to 64 bytes, from PyTorch's allocator; NULL when there is none left. */
  void *(*allocate)(size_t bytes, void *stream);
  void (*release)(void *memory, void *stream);
  /* C = alpha * op(A) op(B) + beta * C, row-major; op(A) is m x k, op(B) is k x n, C is m x n; `lda`, `ldb`, `ldc` are the
   * distances between rows in elements. dtype: f32, f64, f16, bf16. Returns 0, or 1 for a dtype it doesn't know. */
  int32_t (*gemm)(int32_t dtype, int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
                  const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);
} opw_host;

typedef struct opw_kernel {
  const char *name;              /* the signature's name */
  const char *instance;          /* its element types: "T=f32", "T=f32,U=i64", "" when it has no type variable */
  const char *device;            /* "cpu" */
  int32_t (*entry)(const opw_call *call); /* 0, or 1 after call->fail */
  uint64_t strided;              /* bit i: tensor i may have any strides; otherwise it is dense and row-major */
} opw_kernel;

typedef struct opw_library {
  size_t size; /* sizeof(opw_library) */
  int32_t abi_version;
  int32_t count;
  const opw_kernel *kernels;
} opw_library;

/* Returns NULL when it can't work with this host. */
typedef const opw_library *(*opw_library_function)(const opw_host *host);

#ifdef __cplusplus
}
#endif
#endif
