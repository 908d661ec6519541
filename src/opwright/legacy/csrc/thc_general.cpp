// What THC is without tensors: the state, the GPU, its errors, memory, streams and handles.
//
// Nothing of CUDA is linked: this library is one for every PyTorch. What PyTorch's own abstractions of devices don't give is
// looked up in the libraries that a CUDA build of it has loaded.
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

#include "thc.h"

namespace opw::th {

c10::DeviceType cuda_device = at::kCUDA;
std::atomic<bool> cuda_is_ready{false};

namespace {

THCState the_state;

c10::impl::VirtualGuardImpl gpus() {
  return c10::impl::VirtualGuardImpl(cuda_device);
}

[[noreturn]] void fail_for_want_of(const char *function, const char *what, const char *fix) {
  throw Error(std::string(function) + "() needs a GPU: " + what + "\n  likely fix: " + fix);
}

// A C++ function's address, of a library that is there because PyTorch or the program has loaded it.
void *symbol_of(std::initializer_list<const char *> libraries, std::initializer_list<const char *> names) {
  for (const char *library : libraries) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    for (const char *name : names)
      if (void *found = dlsym(handle, name)) return found;
  }
  return nullptr;
}

}  // namespace

void make_cuda_ready(const char *function) {
  if (!c10::impl::hasDeviceGuardImpl(at::kCUDA))
    fail_for_want_of(function, "this PyTorch was built without CUDA",
                     "call the extension's CPU function, or install a CUDA build of PyTorch (https://pytorch.org/get-started)");
  if (gpus().deviceCount() == 0)
    fail_for_want_of(function, "PyTorch finds none", "see whether nvidia-smi lists one, and what CUDA_VISIBLE_DEVICES says");
  at::globalContext().lazyInitDevice(at::kCUDA);
  cuda_is_ready = true;
}

int current_gpu() {
  return cuda_device == at::kCUDA ? gpus().getDevice().index() : -1;
}

void *torch_cuda_symbol(std::initializer_list<const char *> names) {
  return symbol_of({"libtorch_cuda.so", "libtorch.so"}, names);
}

void *cuda_runtime_symbol(const char *name) {
  if (void *found = dlsym(RTLD_DEFAULT, name)) return found;
  return symbol_of({"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}, {name});
}

namespace {

using ErrorText = const char *(*)(int);

std::string text_of(const char *function, int status) {
  auto *text = reinterpret_cast<ErrorText>(cuda_runtime_symbol(function));
  return text ? std::string(" : ") + text(status) : std::string();
}

void *required(const char *function, void *symbol, const char *what) {
  if (!symbol) FAIL("%s: this PyTorch's libraries have no %s", function, what);
  return symbol;
}

c10::Stream current_stream(const char *function, int device) {
  needs_cuda(function);
  return gpus().getStream(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
}

// cudaStream_t. Earlier PyTorch's streams don't tell theirs; then there is a C function for it.
void *native(const c10::Stream &stream) {
  using Current = int (*)(int32_t, void **);
  static auto *current = reinterpret_cast<Current>(torch_cuda_symbol({"aoti_torch_get_current_cuda_stream"}));
  void *found = nullptr;
  if (current && stream == gpus().getStream(stream.device()) && current(stream.device_index(), &found) == 0) return found;
  return stream.native_handle();
}

// A handle of cuBLAS or cuSPARSE for the current GPU and stream; PyTorch makes and keeps them.
void *handle_from(const char *function, std::initializer_list<const char *> names) {
  needs_cuda(function);
  using Get = void *(*)(bool);  // the older ones have no parameter, which does no harm
  return reinterpret_cast<Get>(required(function, torch_cuda_symbol(names), "such handle"))(true);
}

// Page-locked memory, by its address: PyTorch's allocator wants more than that to take it back.
struct HostMemory {
  std::mutex mutex;
  std::unordered_map<void *, at::DataPtr> blocks;
};

HostMemory &host_memory() {
  static auto *memory = new HostMemory;  // never destroyed: CUDA may be gone before it would be
  return *memory;
}

}  // namespace
}  // namespace opw::th

using namespace opw::th;

struct THCStream {
  void *stream;  // cudaStream_t
  int device;
  int refcount;
  c10::StreamId id;
};

extern "C" __attribute__((visibility("default"))) THCState *state;
THCState *state = &the_state;

OPW_EXPORT_C void opw_thc_use_cpu(int on) {
  cuda_device = on ? at::kCPU : at::kCUDA;
  cuda_is_ready = on != 0;
}

OPW_EXPORT_C THCState *THCState_alloc() {
  return new THCState;
}

OPW_EXPORT_C void THCState_free(THCState *self) {
  if (self != &the_state) delete self;
}

OPW_EXPORT_C void THCudaInit(THCState *) {
  needs_cuda(__func__);
}

OPW_EXPORT_C void THCudaShutdown(THCState *) {}

// cudaError_t, cublasStatus_t and cusparseStatus_t are ints here; 0 is success in all of them.
OPW_EXPORT_C void _THCudaCheck(int status, const char *file, int line) {
  if (status) fail(file, line, "cuda runtime error (%d)%s", status, text_of("cudaGetErrorString", status).c_str());
}

OPW_EXPORT_C void _THCudaCheckWarn(int status, const char *file, int line) {
  if (status)
    std::fprintf(stderr, "cuda runtime error (%d)%s at %s:%d\n", status, text_of("cudaGetErrorString", status).c_str(), file, line);
}

OPW_EXPORT_C void _THCublasCheck(int status, const char *file, int line) {
  if (status) fail(file, line, "cublas runtime error (%d)%s", status, text_of("cublasGetStatusString", status).c_str());
}

OPW_EXPORT_C void _THCusparseCheck(int status, const char *file, int line) {
  if (status) fail(file, line, "cusparse runtime error (%d)%s", status, text_of("cusparseGetErrorString", status).c_str());
}

// cudaError_t: 2 is cudaErrorMemoryAllocation. The memory is that of PyTorch's caching allocator.
OPW_EXPORT_C int THCudaMalloc(THCState *, void **memory, size_t bytes) {
  needs_cuda(__func__);
  try {
    *memory = c10::GetAllocator(cuda_device)->raw_allocate(bytes);
    return 0;
  } catch (const c10::OutOfMemoryError &) {
    *memory = nullptr;
    return 2;
  }
}

OPW_EXPORT_C int THCudaFree(THCState *, void *memory) {
  if (!memory) return 0;
  needs_cuda(__func__);
  c10::GetAllocator(cuda_device)->raw_deallocate(memory);
  return 0;
}

OPW_EXPORT_C void *THCudaHostAlloc(THCState *, size_t bytes) {
  needs_cuda(__func__);
  at::DataPtr block = at::globalContext().getPinnedMemoryAllocator(at::kCUDA)->allocate(bytes);
  void *memory = block.get();
  const std::lock_guard<std::mutex> lock(host_memory().mutex);
  if (memory) host_memory().blocks.insert_or_assign(memory, std::move(block));
  return memory;
}

OPW_EXPORT_C void THCudaHostFree(THCState *, void *memory) {
  const std::lock_guard<std::mutex> lock(host_memory().mutex);
  host_memory().blocks.erase(memory);
}

// The current stream uses this memory: it isn't given to somebody else before that has come to its end.
OPW_EXPORT_C void THCudaHostRecord(THCState *, void *memory) {
  needs_cuda(__func__);
  const std::lock_guard<std::mutex> lock(host_memory().mutex);
  const auto found = host_memory().blocks.find(memory);
  if (found == host_memory().blocks.end()) return;
  at::getHostAllocator(at::kCUDA)->record_event(memory, found->second.get_context(), current_stream(__func__, current_gpu()));
}

OPW_EXPORT_C int THCudaMemGetInfo(THCState *, size_t *available, size_t *total, size_t *largest) {
  needs_cuda(__func__);
  using Info = int (*)(size_t *, size_t *);
  auto *info = reinterpret_cast<Info>(required(__func__, cuda_runtime_symbol("cudaMemGetInfo"), "cudaMemGetInfo"));
  const int status = info(available, total);
  if (largest) *largest = *available;
  return status;
}

OPW_EXPORT_C void *THCState_getCurrentDeviceProperties(THCState *) {
  needs_cuda(__func__);
  using Get = void *(*)();
  void *get = torch_cuda_symbol({"_ZN2at4cuda26getCurrentDevicePropertiesEv"});  // at::cuda::getCurrentDeviceProperties()
  return reinterpret_cast<Get>(required(__func__, get, "device properties"))();
}

OPW_EXPORT_C void *THCState_getDeviceProperties(THCState *, int device) {
  needs_cuda(__func__);
  using Get = void *(*)(int8_t);
  void *get = torch_cuda_symbol({"_ZN2at4cuda19getDevicePropertiesEa"});  // at::cuda::getDeviceProperties(c10::DeviceIndex)
  return reinterpret_cast<Get>(required(__func__, get, "device properties"))(static_cast<int8_t>(device));
}

OPW_EXPORT_C int THCState_getNumDevices(THCState *) {
  return c10::impl::hasDeviceGuardImpl(at::kCUDA) ? gpus().deviceCount() : 0;
}

OPW_EXPORT_C int THCState_getPeerToPeerAccess(THCState *, int device, int other) {
  needs_cuda(__func__);
  using Can = int (*)(int *, int, int);
  auto *can = reinterpret_cast<Can>(required(__func__, cuda_runtime_symbol("cudaDeviceCanAccessPeer"), "cudaDeviceCanAccessPeer"));
  int yes = device == other;
  if (!yes && can(&yes, device, other)) yes = 0;
  return yes;
}

OPW_EXPORT_C void *THCState_getCurrentStream(THCState *) {
  needs_cuda(__func__);
  return cuda_device == at::kCUDA ? native(current_stream(__func__, current_gpu())) : nullptr;
}

OPW_EXPORT_C void *THCState_getCurrentStreamOnDevice(THCState *, int device) {
  return native(current_stream(__func__, device));
}

OPW_EXPORT_C THCStream *THCState_getStream(THCState *) {
  const c10::Stream stream = current_stream(__func__, current_gpu());
  return new THCStream{native(stream), stream.device_index(), 1, stream.id()};
}

OPW_EXPORT_C void THCState_setStream(THCState *, THCStream *stream) {
  needs_cuda(__func__);
  CHECK_ARG(stream, 2, "expected a stream, got a null pointer");
  const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(stream->device));
  gpus().exchangeStream(c10::Stream(c10::Stream::UNSAFE, device, stream->id));
}

OPW_EXPORT_C THCStream *THCStream_newWithPriority(int, int priority) {
  needs_cuda(__func__);
  const auto all = gpus();
  const c10::Stream made = all.getStreamFromGlobalPool(all.getDevice(), priority < 0);
  return new THCStream{made.native_handle(), made.device_index(), 1, made.id()};
}

OPW_EXPORT_C THCStream *THCStream_new(int flags) {
  return THCStream_newWithPriority(flags, 0);
}

OPW_EXPORT_C THCStream *THCStream_defaultStream(int device) {
  needs_cuda(__func__);
  const c10::Stream stream = gpus().getDefaultStream(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
  return new THCStream{nullptr, device, 1, stream.id()};  // CUDA's default stream is the null pointer
}

OPW_EXPORT_C void THCStream_retain(THCStream *self) {
  if (self) __atomic_add_fetch(&self->refcount, 1, __ATOMIC_RELAXED);
}

OPW_EXPORT_C void THCStream_free(THCStream *self) {
  if (self && __atomic_sub_fetch(&self->refcount, 1, __ATOMIC_ACQ_REL) == 0) delete self;  // PyTorch keeps the stream itself
}

OPW_EXPORT_C void *THCState_getCurrentBlasHandle(THCState *) {  // at::cuda::getCurrentCUDABlasHandle
  return handle_from(__func__, {"_ZN2at4cuda24getCurrentCUDABlasHandleEb", "_ZN2at4cuda24getCurrentCUDABlasHandleEv"});
}

OPW_EXPORT_C void *THCState_getCurrentSparseHandle(THCState *) {  // at::cuda::getCurrentCUDASparseHandle
  return handle_from(__func__, {"_ZN2at4cuda26getCurrentCUDASparseHandleEv"});
}
