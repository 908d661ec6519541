// What THC is without tensors: the state, the GPU, and its errors.
//
// Nothing of CUDA is linked: this library is one for every PyTorch. What PyTorch's own abstractions of devices don't give is
// looked up in the libraries that a CUDA build of it has loaded.
#include <ATen/Context.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "thc.h"

namespace opw::th {

c10::DeviceType cuda_device = at::kCUDA;
std::atomic<bool> cuda_is_ready{false};

namespace {

THCState the_state;

compat::Devices gpus() { return opw::compat::Devices(cuda_device); }

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
  if (!opw::compat::has_devices(at::kCUDA))
    fail_for_want_of(
        function, "this PyTorch was built without CUDA",
        "call the extension's CPU function, or install a CUDA build of PyTorch (https://pytorch.org/get-started)");
  if (gpus().deviceCount() == 0)
    fail_for_want_of(function, "PyTorch finds none",
                     "see whether nvidia-smi lists one, and what CUDA_VISIBLE_DEVICES says");
  at::globalContext().lazyInitDevice(at::kCUDA);
  cuda_is_ready = true;
}

int current_gpu() { return cuda_device == at::kCUDA ? gpus().getDevice().index() : -1; }

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

}  // namespace
}  // namespace opw::th

using namespace opw::th;

extern "C" __attribute__((visibility("default"))) THCState *state;
THCState *state = &the_state;

OPW_EXPORT_C void opw_thc_use_cpu(int on) {
  cuda_device = on ? at::kCPU : at::kCUDA;
  cuda_is_ready = on != 0;
}

OPW_EXPORT_C THCState *THCState_alloc() { return new THCState; }

OPW_EXPORT_C void THCState_free(THCState *self) {
  if (self != &the_state) delete self;
}

OPW_EXPORT_C void THCudaInit(THCState *) { needs_cuda(__func__); }

OPW_EXPORT_C void THCudaShutdown(THCState *) {}

// cudaError_t, cublasStatus_t and cusparseStatus_t are ints here; 0 is success in all of them.
OPW_EXPORT_C void _THCudaCheck(int status, const char *file, int line) {
  if (status) fail(file, line, "cuda runtime error (%d)%s", status, text_of("cudaGetErrorString", status).c_str());
}

OPW_EXPORT_C void _THCudaCheckWarn(int status, const char *file, int line) {
  if (status)
    std::fprintf(stderr, "cuda runtime error (%d)%s at %s:%d\n", status, text_of("cudaGetErrorString", status).c_str(),
                 file, line);
}

OPW_EXPORT_C void _THCublasCheck(int status, const char *file, int line) {
  if (status) fail(file, line, "cublas runtime error (%d)%s", status, text_of("cublasGetStatusString", status).c_str());
}

OPW_EXPORT_C void _THCusparseCheck(int status, const char *file, int line) {
  if (status)
    fail(file, line, "cusparse runtime error (%d)%s", status, text_of("cusparseGetErrorString", status).c_str());
}

OPW_EXPORT_C void *THCState_getCurrentDeviceProperties(THCState *) {
  needs_cuda(__func__);
  using Get = void *(*)();
  void *get =
      torch_cuda_symbol({"_ZN2at4cuda26getCurrentDevicePropertiesEv"});  // at::cuda::getCurrentDeviceProperties()
  return reinterpret_cast<Get>(required(__func__, get, "device properties"))();
}

OPW_EXPORT_C void *THCState_getDeviceProperties(THCState *, int device) {
  needs_cuda(__func__);
  using Get = void *(*)(int8_t);
  void *get =
      torch_cuda_symbol({"_ZN2at4cuda19getDevicePropertiesEa"});  // at::cuda::getDeviceProperties(c10::DeviceIndex)
  return reinterpret_cast<Get>(required(__func__, get, "device properties"))(static_cast<int8_t>(device));
}

OPW_EXPORT_C int THCState_getNumDevices(THCState *) {
  return opw::compat::has_devices(at::kCUDA) ? gpus().deviceCount() : 0;
}

OPW_EXPORT_C int THCState_getPeerToPeerAccess(THCState *, int device, int other) {
  needs_cuda(__func__);
  using Can = int (*)(int *, int, int);
  auto *can = reinterpret_cast<Can>(
      required(__func__, cuda_runtime_symbol("cudaDeviceCanAccessPeer"), "cudaDeviceCanAccessPeer"));
  int yes = device == other;
  if (!yes && can(&yes, device, other)) yes = 0;
  return yes;
}
