// CUDA's names: the functions of TH with a THCState * in front, on memory of a GPU.
#pragma once
#include <c10/core/DeviceType.h>

#include <atomic>
#include <initializer_list>

#include "errors.h"

// C code gets one from `extern THCState *state` and hands it back. All that it held, PyTorch holds today.
struct THCState {};

namespace opw::th {

// Where THC's memory is: at::kCUDA, but in tests that have this very code work on the CPU's memory (opw_thc_use_cpu).
extern c10::DeviceType cuda_device;
extern std::atomic<bool> cuda_is_ready;

// Throws, in words for the user, where `function` can't do its work: no CUDA in this PyTorch, no GPU.
void make_cuda_ready(const char *function);

inline void needs_cuda(const char *function) {
  if (!cuda_is_ready.load(std::memory_order_relaxed)) make_cuda_ready(function);
}

// The GPU that is current in this thread; -1 on the CPU.
int current_gpu();
// A function of a library of CUDA's or PyTorch's that is loaded, the first of these names that it has; null: none.
void *torch_cuda_symbol(std::initializer_list<const char *> names);
void *cuda_runtime_symbol(const char *name);

}  // namespace opw::th
