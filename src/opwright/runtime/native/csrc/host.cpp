// The services that kernels get: PyTorch's threads and memory, and products of matrices (gemm.cpp).
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/stable/c/shim.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "gemm/gemm.h"
#include "call/operator.h"

namespace opw {
namespace {

struct Loop {
  void (*body)(void *, int64_t, int64_t);
  void *context;
  c10::Device device;  // of the call: pieces run in other threads

  static void run(int64_t begin, int64_t end, void *self) {
    const Loop &loop = *static_cast<Loop *>(self);
    const OnDevice on(loop.device);
    loop.body(loop.context, begin, end);
  }
};

}  // namespace

// Not at::parallel_for: that stands in a header, and is a plain loop where this file is compiled without the very OpenMP
// that PyTorch has. This function is compiled within PyTorch.
void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context) {
  Loop loop{body, context, current_device()};
  torch_parallel_for(begin, end, grain, &Loop::run, &loop);
}

namespace {

int32_t num_threads() { return at::get_num_threads(); }

// Workspaces on devices, by their addresses. They come from the device's caching allocator and go back to it in the order of
// the stream, so that the kernels which use them needn't have ended.
class Workspaces {
 public:
  void *take(size_t bytes, c10::Device device) {
    auto memory = c10::GetAllocator(device.type())->allocate(bytes);
    void *address = memory.get();
    std::lock_guard<std::mutex> lock(mutex_);
    if (address) held_.insert_or_assign(address, std::move(memory));
    any_.store(!held_.empty(), std::memory_order_release);
    return address;
  }
  // Whether it was one.
  bool give_back(void *address) {
    if (C10_LIKELY(!any_.load(std::memory_order_acquire))) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    const bool known = held_.erase(address) > 0;
    any_.store(!held_.empty(), std::memory_order_release);
    return known;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void *, c10::DataPtr> held_;
  std::atomic<bool> any_{false};
};

Workspaces &workspaces() {
  static auto *all = new Workspaces;  // for ever: threads may outlive what is static
  return *all;
}

void *allocate(size_t bytes, void *) {
  try {
    if (const auto device = current_device(); !device.is_cpu()) return workspaces().take(bytes, device);
    return c10::GetCPUAllocator()->raw_allocate(bytes);
  } catch (...) {
    return nullptr;  // the kernel says it in its own words
  }
}

void release(void *memory, void *) {
  if (workspaces().give_back(memory)) return;
  c10::GetCPUAllocator()->raw_deallocate(memory);
}

int32_t gemm(int32_t dtype, int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
  const Gemm g{transpose_a != 0, transpose_b != 0, m, n, k, alpha, beta, lda, ldb, ldc};
  try {
    return multiply(Multiplier::Chosen, dtype, g, a, b, c) ? 0 : 1;
  } catch (...) {
    return 1;  // nothing may cross the C ABI
  }
}

}  // namespace

const opw_host *host() {
  static const opw_host services{
      sizeof(opw_host), OPWRIGHT_ABI_VERSION, 0, &parallel_for, &num_threads, &allocate, &release, &gemm};
  return &services;
}

}  // namespace opw
