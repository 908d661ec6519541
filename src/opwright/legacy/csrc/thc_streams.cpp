// PyTorch's streams, and its handles of CUDA's libraries.
#include "thc.h"

namespace opw::th {
namespace {

// cudaStream_t. Earlier PyTorch's streams don't tell theirs; then there is a C function for it.
void *native(const c10::Stream &stream) {
  using Current = int (*)(int32_t, void **);
  static auto *current = reinterpret_cast<Current>(torch_cuda_symbol({"aoti_torch_get_current_cuda_stream"}));
  void *found = nullptr;
  if (current && stream == gpus().getStream(stream.device()) && current(stream.device_index(), &found) == 0)
    return found;
  return stream.native_handle();
}

// A handle of cuBLAS or cuSPARSE for the current GPU and stream; PyTorch makes and keeps them.
void *handle_from(const char *function, std::initializer_list<const char *> names) {
  needs_cuda(function);
  using Get = void *(*)(bool);  // the older ones have no parameter, which does no harm
  return reinterpret_cast<Get>(required(function, torch_cuda_symbol(names), "such handle"))(true);
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

OPW_EXPORT_C THCStream *THCStream_new(int flags) { return THCStream_newWithPriority(flags, 0); }

OPW_EXPORT_C THCStream *THCStream_defaultStream(int device) {
  needs_cuda(__func__);
  const c10::Stream stream = gpus().getDefaultStream(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
  return new THCStream{nullptr, device, 1, stream.id()};  // CUDA's default stream is the null pointer
}

OPW_EXPORT_C void THCStream_retain(THCStream *self) {
  if (self) __atomic_add_fetch(&self->refcount, 1, __ATOMIC_RELAXED);
}

OPW_EXPORT_C void THCStream_free(THCStream *self) {
  if (self && __atomic_sub_fetch(&self->refcount, 1, __ATOMIC_ACQ_REL) == 0)
    delete self;  // PyTorch keeps the stream itself
}

OPW_EXPORT_C void *THCState_getCurrentBlasHandle(THCState *) {  // at::cuda::getCurrentCUDABlasHandle
  return handle_from(__func__, {"_ZN2at4cuda24getCurrentCUDABlasHandleEb", "_ZN2at4cuda24getCurrentCUDABlasHandleEv"});
}

OPW_EXPORT_C void *THCState_getCurrentSparseHandle(THCState *) {  // at::cuda::getCurrentCUDASparseHandle
  return handle_from(__func__, {"_ZN2at4cuda26getCurrentCUDASparseHandleEv"});
}
