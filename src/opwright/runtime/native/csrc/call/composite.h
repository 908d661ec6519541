// Operators whose kernel is composite: it calls another operator, which autograd, tracing and torch.func see in its place.
#pragma once
#include <torch/library.h>

#include <deque>
#include <mutex>
#include <string>

namespace opw {

// Gives the dispatcher's operator `qualified` ("ns::name", overload), which is defined, kernels from `make`.
template <class F>
void register_composite(const char *qualified, const char *overload, F make) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(qualified, overload);
  const std::string ns(handle.operator_name().getNamespace().value());
  const std::string full = std::string(qualified).substr(ns.size() + 2) + "." + overload;
  static std::mutex mutex;
  static auto *libraries = new std::deque<torch::Library>;  // never unregistered: graphs may hold the operators
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto key :
       {c10::DispatchKey::CompositeImplicitAutograd, c10::DispatchKey::FuncTorchBatchedDecomposition}) {
    libraries->emplace_back(torch::Library::IMPL, ns, key, __FILE__, __LINE__);
    libraries->back().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(make()));
  }
}

}  // namespace opw
