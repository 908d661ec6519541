// The random numbers of GPUs: seeds and states. Tensors are filled by thc_random.list.
#include <ATen/Context.h>

#include <mutex>

#include "tensor.h"
#include "thc.h"

namespace opw::th {
namespace {

const at::Generator &generator_on(int gpu) {
  return at::globalContext().defaultGenerator(c10::Device(cuda_device, static_cast<c10::DeviceIndex>(gpu)));
}

// Of the current GPU, while nobody else may use it.
struct GpuGenerator {
  explicit GpuGenerator(int gpu = current_gpu()) : generator(generator_on(gpu)), lock(generator.mutex()) {}
  at::Generator generator;
  std::lock_guard<std::mutex> lock;
};

template <class F>
void each_generator(F f) {
  const int count = cuda_device == at::kCUDA ? THCState_getNumDevices(nullptr) : 1;
  for (int gpu = 0; gpu < count; ++gpu) {
    GpuGenerator held(cuda_device == at::kCUDA ? gpu : -1);
    f(held.generator);
  }
}

}  // namespace
}  // namespace opw::th

using namespace opw::th;

OPW_EXPORT_C void THCRandom_init(THCState *, int, int) {
  needs_cuda(__func__);  // PyTorch has made the generators
}

OPW_EXPORT_C void THCRandom_shutdown(THCState *) {}

OPW_EXPORT_C unsigned long long THCRandom_seed(THCState *) {
  needs_cuda(__func__);
  return GpuGenerator().generator.seed();
}

OPW_EXPORT_C unsigned long long THCRandom_seedAll(THCState *) {
  needs_cuda(__func__);
  const uint64_t seed = GpuGenerator().generator.seed();
  each_generator([seed](at::Generator &generator) { generator.set_current_seed(seed); });
  return seed;
}

OPW_EXPORT_C void THCRandom_manualSeed(THCState *, unsigned long long seed) {
  needs_cuda(__func__);
  GpuGenerator().generator.set_current_seed(seed);
}

OPW_EXPORT_C void THCRandom_manualSeedAll(THCState *, unsigned long long seed) {
  needs_cuda(__func__);
  each_generator([seed](at::Generator &generator) { generator.set_current_seed(seed); });
}

OPW_EXPORT_C unsigned long long THCRandom_initialSeed(THCState *) {
  needs_cuda(__func__);
  return GpuGenerator().generator.current_seed();
}

// The state, as torch.cuda.get_rng_state() has it, in a tensor on the CPU.
OPW_EXPORT_C void THCRandom_getRNGState(THCState *, Tensor *bytes) {
  needs_cuda(__func__);
  Below below;
  assign(bytes, GpuGenerator().generator.get_state());
}

OPW_EXPORT_C void THCRandom_setRNGState(THCState *, Tensor *bytes) {
  needs_cuda(__func__);
  Below below;
  GpuGenerator().generator.set_state(view(bytes).clone());
}
