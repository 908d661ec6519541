// Included last by the generated part of a bundle: what happens when it is loaded. Uses nothing of PyTorch but its stable C
// functions, because this is where it is found out whether the rest fits the PyTorch of the process.
#pragma once
#include <cstdio>
#include <stdexcept>
#include <string>

#include "bundle/bundle.h"

extern "C" {
// torch/csrc/inductor/aoti_torch/c/shim.h
struct TorchLibraryOpaque;
uint64_t aoti_torch_abi_version();
int32_t aoti_torch_library_init_fragment(const char *ns, const char *file, uint32_t line, TorchLibraryOpaque **library);
int32_t aoti_torch_library_init_impl(const char *ns, const char *key, const char *file, uint32_t line,
                                     TorchLibraryOpaque **library);
int32_t aoti_torch_library_def(TorchLibraryOpaque *library, const char *schema);
int32_t aoti_torch_library_impl(TorchLibraryOpaque *library, const char *name,
                                void (*f)(uint64_t *, uint64_t, uint64_t));
}

namespace {

std::string refusal;

void refuse_call(uint64_t *, uint64_t, uint64_t) { throw std::runtime_error(refusal); }

// Operators that say at each call why they don't work: an error where the library is loaded can only be printed.
void define_refused(const opw_bundle &bundle) {
  TorchLibraryOpaque *fragment = nullptr, *implementation = nullptr;
  if (aoti_torch_library_init_fragment(bundle.ns, __FILE__, __LINE__, &fragment) ||
      aoti_torch_library_init_impl(bundle.ns, "CompositeExplicitAutograd", __FILE__, __LINE__, &implementation))
    return;
  for (int32_t i = 0; i < bundle.operator_count; ++i) {
    const auto &op = bundle.operators[i];
    const std::string name = std::string(op.name).substr(std::string(bundle.ns).size() + 2) + "." + op.overload;
    if (!aoti_torch_library_def(fragment, op.schema))
      aoti_torch_library_impl(implementation, name.c_str(), &refuse_call);
  }
}

void load(const opw_bundle &bundle) {
  const uint64_t version = aoti_torch_abi_version();
  const int major = static_cast<int>(version >> 56), minor = static_cast<int>(version >> 48 & 0xff);
  const auto dotted = [](int a, int b) { return std::to_string(a) + "." + std::to_string(b); };
  const bool fits = major == bundle.torch_major && minor == bundle.torch_minor;
  if (!fits) {
    refusal = std::string(bundle.file) + " was written for PyTorch " + dotted(bundle.torch_major, bundle.torch_minor) +
              ", this process has " + dotted(major, minor) + "\n  likely fix: opwright.bundle(...) with this PyTorch";
  } else if (const char *failure = opw_bundle_register(&bundle)) {
    refusal = std::string(bundle.file) + ": " + failure;
  }
  if (!refusal.empty()) std::fprintf(stderr, "opwright: %s\n", refusal.c_str());
  if (!fits) define_refused(bundle);
}

}  // namespace

// Null, or why the operators were not registered: for C++ programs, after dlopen.
extern "C" __attribute__((visibility("default"))) const char *opwright_bundle_error() {
  return refusal.empty() ? nullptr : refusal.c_str();
}
