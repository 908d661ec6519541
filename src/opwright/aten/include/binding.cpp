/* What binding.h declares, by pybind11. Compiled once for each PyTorch, and linked into every extension that uses it. */
#include "binding.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

namespace opwright_binding {

namespace {

/* A definition's call and function lie in a record's data, and whether PyTorch translates. */
PyObject *called(py::detail::function_call &call) {
  const auto &data = call.func.data;
  PyObject *arguments[64];
  uint64_t convert = 0;
  for (size_t i = 0; i < call.args.size(); ++i) {
    arguments[i] = call.args[i].ptr();
    convert |= uint64_t(call.args_convert[i]) << i;
  }
  return reinterpret_cast<Call>(data[0])(reinterpret_cast<Function>(data[1]), arguments, convert);
}

PyObject *translated(py::detail::function_call &call) {
  HANDLE_TH_ERRORS
  return called(call);
  END_HANDLE_TH_ERRORS_PYBIND
}

struct Bound : py::cpp_function {
  Bound(py::module_ module, const Definition &d) {
    auto made = make_function_record();
    auto *record = made.get();
    record->data[0] = reinterpret_cast<void *>(d.call), record->data[1] = reinterpret_cast<void *>(d.function);
    record->impl = d.translate ? [](py::detail::function_call &call) { return py::handle(translated(call)); }
                               : [](py::detail::function_call &call) { return py::handle(called(call)); };
    record->nargs_pos = record->nargs = uint16_t(d.count);
    py::object sibling = py::getattr(module, d.name, py::none());
    py::detail::process_attributes<py::name, py::scope, py::sibling>::init(py::name(d.name), py::scope(module),
                                                                           py::sibling(sibling), record);
    if (d.doc) py::detail::process_attribute<const char *>::init(d.doc, record);
    for (size_t i = 0; i < d.argument_count; ++i) describe(d.arguments[i], record);
    if (d.argument_count && d.argument_count != d.count)
      py::pybind11_fail("the number of py::arg annotations doesn't match that of the function's arguments: " +
                        std::string(d.name));
    static const std::type_info *const none[] = {nullptr};
    initialize_generic(std::move(made), d.text, none, d.count);
  }

  static void describe(const Argument &argument, py::detail::function_record *record) {
    py::arg named(argument.name);
    named.noconvert(argument.noconvert).none(argument.none);
    if (!argument.value) return py::detail::process_attribute<py::arg>::init(named, record);
    py::arg_v valued = (named = py::reinterpret_borrow<py::object>(argument.value));
    py::detail::process_attribute<py::arg_v>::init(valued, record);
  }
};

template <class T>
const char *text_of() {
  static constexpr auto name = py::detail::make_caster<T>::name;
  static_assert(decltype(name)::types()[0] == nullptr, "a name without a registered class in it");
  return name.text;
}

}  // namespace

#define OPWRIGHT_BINDING_DEFINE(...)                                                                              \
  bool Value<__VA_ARGS__>::load(PyObject *object, bool convert, std::optional<Held> &into) {                      \
    py::detail::make_caster<__VA_ARGS__> caster;                                                                  \
    if (!caster.load(object, convert)) return false;                                                              \
    into.emplace(py::detail::cast_op<__VA_ARGS__>(std::move(caster)));                                            \
    return true;                                                                                                  \
  }                                                                                                               \
  PyObject *Value<__VA_ARGS__>::cast(Held &&value) {                                                              \
    return py::detail::make_caster<__VA_ARGS__>::cast(std::move(value), py::return_value_policy::move, {}).ptr(); \
  }                                                                                                               \
  const char *Value<__VA_ARGS__>::name() { return text_of<__VA_ARGS__>(); }
OPWRIGHT_BINDING_TYPES(OPWRIGHT_BINDING_DEFINE)

bool Value<at::IntArrayRef>::load(PyObject *object, bool convert, std::optional<Held> &into) {
  py::detail::make_caster<at::IntArrayRef> caster;
  if (!caster.load(object, convert)) return false;
  into.emplace(py::detail::cast_op<at::IntArrayRef>(caster).vec());
  return true;
}
const char *Value<at::IntArrayRef>::name() { return text_of<at::IntArrayRef>(); }

void define(PyObject *object, const Definition &definition) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.add_object(definition.name, Bound(module, definition), true);
}

PyObject *create(const char *name, void (*fill)(PyObject *)) {
  static PyModuleDef definition;
  try {
    py::detail::get_internals();
    auto module = py::module_::create_extension_module(name, nullptr, &definition);
    fill(module.ptr());
    return module.ptr();
  } catch (py::error_already_set &error) {
    py::raise_from(error, PyExc_ImportError, "initialization failed");
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  return nullptr;
}

void *release_gil() { return new py::gil_scoped_release; }
void acquire_gil(void *released) { delete static_cast<py::gil_scoped_release *>(released); }

}  // namespace opwright_binding
