// Errors that Python sees under Opwright's own exception classes, without linking Python.
#pragma once
#include <exception>
#include <string>
#include <utility>

struct _object;  // PyObject; only ever passed through

#if OPW_PYTORCH_ERROR
namespace torch {
// The base class that PyTorch's exception translator asks for the Python class to raise. Declared in
// torch/csrc/Exceptions.h, which needs Python's headers; the declaration here must stay the same, member by member
// (the build compares the two texts; see runtime/native/runtime.py). Matched across libraries by its name.
struct __attribute__((visibility("default"))) PyTorchError : public std::exception {
  PyTorchError() = default;
  PyTorchError(std::string msg_) : msg(std::move(msg_)) {}
  virtual _object *python_type() = 0;
  const char *what() const noexcept override { return msg.c_str(); }
  std::string msg;
};
}  // namespace torch
#endif

namespace opw {

#if OPW_PYTORCH_ERROR
// An instance of one of opwright.errors' classes, on its way to Python. Classes live as long as the process.
struct PythonError final : torch::PyTorchError {
  PythonError(_object *type, std::string text) : PyTorchError(std::move(text)), type_(type) {}
  _object *python_type() override { return type_; }

 private:
  _object *type_;
};
#endif

// The exception classes that native code raises by itself; given by Python once.
enum class Class { Argument, Kernel, Unsupported, Internal };
[[noreturn]] void raise(Class which, const std::string &text);
[[noreturn]] void raise(_object *type, const std::string &text);

// `text` with U+FFFD in place of what is no UTF-8, which PyTorch's translator couldn't hand to Python.
std::string valid_utf8(const std::string &text);

}  // namespace opw
