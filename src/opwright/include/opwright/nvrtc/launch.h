/* From a launch in the host half to cuLaunchKernel: modules, one for each context, and the kernels in them. */
#ifndef OPWRIGHT_NVRTC_LAUNCH_H
#define OPWRIGHT_NVRTC_LAUNCH_H

#include "driver.h"
#include "images.h"

namespace opwright {
namespace nvrtc {

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  Kernel **asking = nullptr; /* not a launch: who is it? */
};
inline Configuration &configuration() {
  static thread_local Configuration of_thread;
  return of_thread;
}

struct Function {
  CUcontext context;
  CUfunction function;
  Function *next;
};
struct Module {
  CUcontext context;
  CUmodule module;
  const Image *image;
  Module *next;
};
inline pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
inline Module *modules = nullptr;

struct Locked {
  Locked() { pthread_mutex_lock(&lock); }
  ~Locked() { pthread_mutex_unlock(&lock); }
};

/* How well an image serves a card of that number: 0 not at all. A cubin runs within its generation, on cards that are not
 * older; PTX on all that are not older. */
inline int fitness(const Image &image, int card) {
  if (image.number > card || (image.exact && image.number != card)) return 0;
  if (image.is_ptx) return image.number;
  return image.number / 10 == card / 10 ? 1000 + 2 * image.number + image.exact : 0;
}
inline const Image *image_for(int card) {
  const Image *best = nullptr;
  for (size_t i = 0; i < image_count; ++i)
    if (fitness(images[i], card) > (best ? fitness(*best, card) : 0)) best = &images[i];
  if (best) return best;
  char listed[256] = "";
  for (size_t i = 0; i < image_count; ++i) {
    const size_t length = strlen(listed);
    snprintf(listed + length, sizeof(listed) - length, "%s%s", length ? ", " : "", images[i].architecture);
  }
  char text[400];
  snprintf(text, sizeof(text), "built for %s, but this GPU is sm_%d; likely fix: add %d.%d to TORCH_CUDA_ARCH_LIST",
           listed, card, card / 10, card % 10);
  failed(cudaErrorNoKernelImageForDevice, "%s", text);
  return nullptr;
}

/* The current device's number, 90 for 9.0; 0 after an error. */
inline int card() {
  CUdevice device;
  int major = 0, minor = 0;
  if (OPWRIGHT_CALL(cuCtxGetDevice, &device)) return 0;
  if (OPWRIGHT_CALL(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)) return 0;
  if (OPWRIGHT_CALL(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)) return 0;
  return 10 * major + minor;
}

/* Loads the image for the current device, also while a stream is captured into a graph. */
inline Module *load_module(CUcontext context) {
  const int number = card();
  const Image *image = number ? image_for(number) : nullptr;
  if (!image) return nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CUmodule module = nullptr;
  const bool exchanged = OPWRIGHT_CALL(cuThreadExchangeStreamCaptureMode, &mode) == cudaSuccess;
  const cudaError_t error = OPWRIGHT_CALL(cuModuleLoadData, &module, image->data);
  if (exchanged) OPWRIGHT_CALL(cuThreadExchangeStreamCaptureMode, &mode);
  if (error) return nullptr;
  return modules = new Module{context, module, image, modules};
}
inline Module *module_in(CUcontext context) {
  for (Module *module = modules; module; module = module->next)
    if (module->context == context) return module;
  return load_module(context);
}

inline CUfunction found_in(CUcontext context, const char *key) {
  Module *module = module_in(context);
  if (!module) return nullptr;
  for (size_t i = 0; i < module->image->count; ++i)
    if (!strcmp(module->image->names[i].key, key)) {
      CUfunction function = nullptr;
      const char *lowered = module->image->names[i].lowered;
      return OPWRIGHT_CALL(cuModuleGetFunction, &function, module->module, lowered) ? nullptr : function;
    }
  failed(cudaErrorInvalidDeviceFunction, "the device half doesn't hold the kernel %s", key);
  return nullptr;
}

inline void *Kernel_function(CUcontext context, const char *key, Function *&functions) {
  for (Function *f = __atomic_load_n(&functions, __ATOMIC_ACQUIRE); f; f = f->next)
    if (f->context == context) return f->function;
  Locked locked;
  CUfunction function = found_in(context, key);
  if (function) __atomic_store_n(&functions, new Function{context, function, functions}, __ATOMIC_RELEASE);
  return function;
}

void *Kernel::function() {
  CUcontext current = context();
  return current ? Kernel_function(current, key_, functions_) : nullptr;
}

inline cudaError_t run(Kernel &kernel, const Configuration &c, void **arguments) {
  CUfunction function = static_cast<CUfunction>(kernel.function());
  if (!function) return errors().last;
  return OPWRIGHT_CALL(cuLaunchKernel, function, c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
                       static_cast<unsigned>(c.shared), c.stream, arguments, nullptr);
}

void Kernel::launch(void **arguments) {
  Configuration &c = configuration();
  if (c.asking) {
    *c.asking = this;
    return;
  }
  run(*this, c, arguments);
}

void configure(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  Configuration &c = configuration();
  c.grid = grid, c.block = block, c.shared = shared, c.stream = stream;
}

/* Its host function is called: it does nothing with its arguments but to pass their addresses on. */
Kernel *kernel_of(const void *function) {
  Kernel *found = nullptr;
  configuration().asking = &found;
  reinterpret_cast<void (*)()>(const_cast<void *>(function))();
  configuration().asking = nullptr;
  return found;
}

}  // namespace nvrtc
}  // namespace opwright
#endif
