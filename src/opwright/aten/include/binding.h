/* Between a source that binds functions with PYBIND11_MODULE and binding.cpp, which does it with pybind11.
 *
 * A source sees this alone, not pybind11's headers, whose templates take most of the time that such a source takes.
 * binding.cpp is compiled once for each PyTorch. Everything that Python sees is pybind11's own doing: conversions,
 * overloads, keyword arguments, messages.
 */
#pragma once
#include <Python.h>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Scalar.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opwright_binding {

/* What a call returns to say that these arguments are for another overload. */
inline PyObject *next_overload() { return reinterpret_cast<PyObject *>(1); }

/* The types that functions may take and return. For any other the compiler says that Value is incomplete, and the source
 * is compiled with pybind11's own headers. */
template <class T>
struct Value;

/* X(type, what holds an argument of that type) */
// clang-format off
#define OPWRIGHT_BINDING_PLAIN(X)                                                                        \
  X(at::Tensor) X(at::Scalar) X(at::ScalarType) X(at::Device) X(at::Generator) X(bool) X(short) X(int)   \
  X(long) X(long long) X(unsigned char) X(unsigned) X(unsigned long) X(float) X(double) X(std::string)
#define OPWRIGHT_BINDING_TYPES(X)                                                                         \
  OPWRIGHT_BINDING_PLAIN(X)                                                                               \
  X(std::vector<at::Tensor>) X(std::vector<bool>) X(std::vector<int>) X(std::vector<long>)                \
  X(std::vector<float>) X(std::vector<double>) X(std::vector<std::string>) X(std::vector<std::vector<at::Tensor>>) \
  X(std::vector<std::vector<long>>) X(std::vector<std::optional<at::Tensor>>)                             \
  X(std::optional<at::Tensor>) X(std::optional<at::Scalar>) X(std::optional<at::ScalarType>)              \
  X(std::optional<at::Device>) X(std::optional<at::Generator>) X(std::optional<bool>) X(std::optional<int>) \
  X(std::optional<long>) X(std::optional<float>) X(std::optional<double>) X(std::optional<std::string>)   \
  X(std::optional<std::vector<at::Tensor>>) X(std::optional<std::vector<long>>)
// clang-format on

#define OPWRIGHT_BINDING_DECLARE(...)                                            \
  template <>                                                                    \
  struct Value<__VA_ARGS__> {                                                    \
    using Held = __VA_ARGS__;                                                    \
    static bool load(PyObject *object, bool convert, std::optional<Held> &into); \
    static PyObject *cast(Held &&value); /* a new reference */                   \
    static const char *name();                                                   \
  };
OPWRIGHT_BINDING_TYPES(OPWRIGHT_BINDING_DECLARE)

template <>
struct Value<at::IntArrayRef> { /* only as an argument: somebody has to own the numbers */
  using Held = std::vector<int64_t>;
  static bool load(PyObject *object, bool convert, std::optional<Held> &into);
  static const char *name();
};

/* An argument's name, and its default value where there is one (borrowed). */
struct Argument {
  const char *name;
  PyObject *value;
  bool noconvert, none;
};

using Function = void (*)();
using Call = PyObject *(*)(Function function, PyObject *const *arguments, uint64_t convert);

struct Definition {
  const char *name, *text; /* text: as pybind11 writes a signature before its names are known */
  Call call;
  Function function;
  size_t count;
  const char *doc;
  const Argument *arguments;
  size_t argument_count;
  bool translate; /* PyTorch turns exceptions and warnings into Python's, as torch::wrap_pybind_function does it */
};

void define(PyObject *module, const Definition &definition);
PyObject *create(const char *name, void (*fill)(PyObject *module));
void *release_gil();
void acquire_gil(void *released);

}  // namespace opwright_binding
