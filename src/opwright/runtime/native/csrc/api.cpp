// What Python calls, through ctypes: plain C, so that one binary serves every Python.
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <cstdlib>
#include <deque>
#include <mutex>

#include "autograd/derivative.h"
#include "errors.h"
#include "gemm/gemm.h"
#include "call/chooser.h"
#include "call/kernels.h"
#include "messages.h"
#include "call/variants.h"
#include "vmap/vmap.h"

namespace opw {

Callbacks callbacks{};

namespace {

thread_local std::string error_text;
thread_local _object *error_type = nullptr;
_object *classes[4] = {};

template <class F>
auto guarded(F body) -> decltype(body()) {
  error_type = nullptr;
  try {
    return body();
  } catch (const std::exception &e) {
    error_type = classes[static_cast<int>(Class::Internal)];
    error_text = e.what();
    return {};
  }
}

// The length of the character at `text[at]`, or minus the length of what is to be replaced there.
int character(const std::string &text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const int lead = byte(at);
  if (lead < 0x80) return 1;
  const int length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  // no overlong forms, no surrogates, nothing beyond U+10FFFF
  const int low = lead == 0xe0   ? 0xa0
                  : lead == 0xf0 ? 0x90
                                 : 0x80,
            high = lead == 0xed   ? 0x9f
                   : lead == 0xf4 ? 0x8f
                                  : 0xbf;
  if (!length || byte(at + 1) < low || byte(at + 1) > high) return -1;
  for (int i = 2; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return -i;
  return length;
}

}  // namespace

std::string valid_utf8(const std::string &text) {
  std::string valid;
  for (size_t at = 0; at < text.size();) {
    const int length = character(text, at);
    if (length > 0) valid.append(text, at, length);
    else valid += "\xef\xbf\xbd";
    at += std::abs(length);
  }
  return valid;
}

void raise([[maybe_unused]] _object *type, const std::string &text) {
#if OPW_PYTORCH_ERROR
  if (type) throw PythonError(type, valid_utf8(text));
#endif
  TORCH_CHECK(false, valid_utf8(text));
}

void raise(Class which, const std::string &text) { raise(classes[static_cast<int>(which)], text); }

void raise_pending(const std::string &otherwise) {
  _object *type = error_type;
  error_type = nullptr;
  if (!type) raise(Class::Argument, otherwise);
  raise(type, error_text);
}

}  // namespace opw

using namespace opw;

OPW_EXPORT void opw_initialize(Callbacks given, _object *argument, _object *kernel, _object *unsupported,
                               _object *internal) {
  callbacks = given;
  classes[0] = argument, classes[1] = kernel, classes[2] = unsupported, classes[3] = internal;
}

// For callbacks: the exception that the native caller shall raise.
OPW_EXPORT void opw_set_error(_object *type, const char *text) {
  error_type = type;
  error_text = text;
}

// After a function that returned null: its error.
OPW_EXPORT const char *opw_last_error() { return error_type ? error_text.c_str() : nullptr; }

// Whether anybody has operators in this namespace.
OPW_EXPORT int32_t opw_namespace_in_use(const char *ns) {
  const std::string prefix = std::string(ns) + "::";
  for (const auto &name : c10::Dispatcher::singleton().getAllOpNames())
    if (name.name.compare(0, prefix.size(), prefix) == 0) return 1;
  return 0;
}

OPW_EXPORT Kernel *opw_kernel_new(int64_t id, const char *name) {
  auto *kernel = new Kernel;
  kernel->id = id;
  kernel->name = name;
  return kernel;
}

// For which devices it has kernels from now on.
OPW_EXPORT void opw_kernel_serve(Kernel *kernel, int32_t cpu, int32_t cuda) {
  kernel->cpu = cpu != 0, kernel->cuda = cuda != 0;
}

OPW_EXPORT void opw_kernel_publish(Kernel *kernel, uint64_t types, const opw_kernel *entry) {
  kernel->publish(types, entry);
}

// Opens a kernel library and hands it the host services. Never closed: its code may still run.
OPW_EXPORT const opw_library *opw_library_open(const char *path) {
  return guarded([&]() -> const opw_library * {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    TORCH_CHECK(handle, dlerror());
    auto function = reinterpret_cast<opw_library_function>(dlsym(handle, "opwright_library"));
    TORCH_CHECK(function, messages::no_library(path));
    const opw_library *library = function(host());
    TORCH_CHECK(library && library->abi_version == OPWRIGHT_ABI_VERSION,
                messages::other_abi(path, std::to_string(OPWRIGHT_ABI_VERSION)));
    return library;
  });
}

// opw_host.gemm by one Multiplier, for tests and benchmarks. 1, or 0 where that one can't.
OPW_EXPORT int32_t opw_gemm_by(int32_t by, int32_t dtype, int32_t transpose_a, int32_t transpose_b, int64_t m,
                               int64_t n, int64_t k, double alpha, const void *a, int64_t lda, const void *b,
                               int64_t ldb, double beta, void *c, int64_t ldc) {
  const Gemm g{transpose_a != 0, transpose_b != 0, m, n, k, alpha, beta, lda, ldb, ldc};
  return guarded([&]() -> int32_t { return multiply(static_cast<Multiplier>(by), dtype, g, a, b, c); });
}

// The schema `qualified` ("ns::name", overload) must be defined already.
OPW_EXPORT Operator *opw_operator_new(Kernel *kernel, const char *qualified, const char *overload, const int64_t *plan,
                                      int64_t count, int32_t returns_residuals) {
  return guarded([&] {
    auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(qualified, overload);
    return new Operator{Plan::decode(plan, count), kernel, returns_residuals != 0, handle};
  });
}

// From now on the kernel of `op` is what somebody else registers below autograd. Before opw_operator_register.
OPW_EXPORT void opw_operator_bind(Operator *op) { op->bound = true; }

// Whether calls under vmap are for a kernel in C++, which opw_operator_register registers.
OPW_EXPORT int32_t opw_operator_maps(const Operator *op) { return maps(*op); }

// Gives the operator's variant `qualified` ("ns::name", overload), whose schema is defined already, its kernel; see variants.h.
OPW_EXPORT int32_t opw_variant_register(const Operator *op, int32_t kind, const char *qualified, const char *overload,
                                        const char *name) {
  return guarded([&]() -> int32_t {
    register_variant(*op, static_cast<VariantKind>(kind), qualified, overload, name);
    return 1;
  });
}

// What chooses between alternatives, see chooser.h; `words` as runtime/native/plan.py encodes it. Lives for ever.
OPW_EXPORT Chooser *opw_chooser_new(const char *name, const char *takes, const int64_t *words, int64_t count) {
  return guarded([&] { return new Chooser(Chooser::decode(name, takes, words, count)); });
}

// Adds the next alternative, whose schema is defined already; `op` may be null.
OPW_EXPORT int32_t opw_chooser_add(Chooser *chooser, const Operator *op, const char *qualified, const char *overload) {
  return guarded([&]() -> int32_t {
    chooser->add(op, qualified, overload);
    return 1;
  });
}

OPW_EXPORT int32_t opw_chooser_register(const Chooser *chooser, const char *qualified, const char *overload) {
  return guarded([&]() -> int32_t {
    register_chooser(*chooser, qualified, overload);
    return 1;
  });
}

// Kernels for "cuda" are for devices of that type from now on (see device.h). Before opw_operator_register.
OPW_EXPORT void opw_set_accelerator(int32_t type) { accelerator = static_cast<c10::DeviceType>(type); }

// Gives `op` its kernels at the keys of devices and autograd. `backward` may be null: then `missing` is the error of backward(). So
// may `jvp`, its forward mode.
OPW_EXPORT int32_t opw_operator_register(Operator *op, const Operator *forward, const Operator *backward,
                                         const Operator *jvp, const int64_t *words, int64_t count,
                                         const char *node_name, const char *missing) {
  return guarded([&]() -> int32_t {
    auto *derivative = Derivative::decode(op->plan, words, count);
    derivative->forward = forward;
    derivative->backward = backward;
    derivative->forward_mode.op = jvp;
    derivative->node_name = node_name;
    derivative->missing = missing;
    op->derivative = derivative;
    const auto &name = op->handle.operator_name();
    const std::string ns(name.getNamespace().value()),
        full = name.name.substr(ns.size() + 2) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    static std::mutex mutex;
    static auto *libraries = new std::deque<torch::Library>;  // never unregistered: graphs may hold the operators
    std::lock_guard<std::mutex> lock(mutex);
    const auto add = [&](c10::DispatchKey key, auto kernel) {
      libraries->emplace_back(torch::Library::IMPL, ns, key, __FILE__, __LINE__);
      libraries->back().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
    };
    if (!op->bound) {
      add(c10::DispatchKey::CPU,
          std::make_unique<DeviceKernel>(op));  // devices that it has nothing for get their error
      add(accelerator_key(), std::make_unique<DeviceKernel>(op));
      add(c10::DispatchKey::CompositeExplicitAutograd, std::make_unique<RefuseKernel>(op));
    }
    add(c10::DispatchKey::NestedTensorCPU, std::make_unique<RefuseKernel>(op));  // not among the composite ones
    add(c10::DispatchKey::NestedTensorCUDA, std::make_unique<RefuseKernel>(op));
    if (op->plan.factory) {
      add(c10::DispatchKey::BackendSelect, std::make_unique<FactoryKernel>(op));
      return 1;
    }
    add(c10::DispatchKey::Autograd, std::make_unique<AutogradKernel>(op));
    if (maps(*op)) add(c10::DispatchKey::FuncTorchBatched, std::make_unique<BatchKernel>(op));
    add(c10::DispatchKey::AutocastCPU, std::make_unique<AutocastKernel>(op));
    add(at::autocast::get_autocast_dispatch_key_from_device_type(accelerator), std::make_unique<AutocastKernel>(op));
    if (op->plan.mutated.empty()) return 1;
    add(c10::DispatchKey::ADInplaceOrView, std::make_unique<InplaceKernel>(op));
    add(c10::DispatchKey::Negative, std::make_unique<LazyKernel>(op));
    add(c10::DispatchKey::Conjugate, std::make_unique<LazyKernel>(op));
    return 1;
  });
}
