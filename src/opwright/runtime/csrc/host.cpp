// The services that kernels get: PyTorch's threads and memory, and products of matrices (gemm.cpp).
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/stable/c/shim.h>

#include "gemm.h"
#include "operator.h"

namespace opw {
namespace {

struct Loop {
  void (*body)(void*, int64_t, int64_t);
  void* context;

  static void run(int64_t begin, int64_t end, void* self) {
    const Loop& loop = *static_cast<Loop*>(self);
    loop.body(loop.context, begin, end);
  }
};

}  // namespace

// Not at::parallel_for: that stands in a header, and is a plain loop where this file is compiled without the very OpenMP
// that PyTorch has. This function is compiled within PyTorch.
void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  Loop loop{body, context};
  torch_parallel_for(begin, end, grain, &Loop::run, &loop);
}

namespace {

int32_t num_threads() {
  return at::get_num_threads();
}

void* allocate(size_t bytes, void*) {
  try {
    return c10::GetCPUAllocator()->raw_allocate(bytes);
  } catch (...) {
    return nullptr;  // the kernel says it in its own words
  }
}

void release(void* memory, void*) {
  c10::GetCPUAllocator()->raw_deallocate(memory);
}

int32_t gemm(int32_t dtype, int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const void* a, int64_t lda, const void* b, int64_t ldb, double beta, void* c, int64_t ldc) {
  const Gemm g{transpose_a != 0, transpose_b != 0, m, n, k, alpha, beta, lda, ldb, ldc};
  try {
    return multiply(Multiplier::Chosen, dtype, g, a, b, c) ? 0 : 1;
  } catch (...) {
    return 1;  // nothing may cross the C ABI
  }
}

}  // namespace

const opw_host* host() {
  static const opw_host services{sizeof(opw_host), OPWRIGHT_ABI_VERSION, 0, &parallel_for, &num_threads,
                                 &allocate, &release, &gemm};
  return &services;
}

}  // namespace opw
