// What `_wrap_function` returns: cffi's function, called with TH structs for tensors and storages.
//
// An error of the C code is a C++ exception that comes through cffi's own frame, which had released the GIL. So cffi's function
// is called through its C pointer: an exception may pass cffi's code, which holds nothing, but not the interpreter's.
#include "loans.h"

#include <cxxabi.h>
#include <structmember.h>

namespace opw::th {
namespace {

enum Result { kOther, kTensor, kStorage };

struct Function {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function;  // cffi's
  PyCFunction code;
  PyObject *self;  // the extension's lib, which `code` gets; borrowed from `function`
  int convention;
  int result, result_type;
  Types *types;
  PyObject *dict;
};

// The convention of what isn't one of Python's functions but a cdata: of a function with "..." in its prototype.
constexpr int kCData = -1;

const char *name_of(const Function *f) {
  if (f->convention == kCData) return "the function";
  return reinterpret_cast<PyCFunctionObject *>(f->function)->m_ml->ml_name;
}

PyThreadState *current_thread_state() {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

// Calls cffi's function. `argument` is what its convention asks for.
PyObject *enter(const Function *f, PyObject *argument) {
  PyThreadState *state = PyThreadState_Get();
  try {
    // The slot, and not PyObject_Call, which counts calls and wouldn't count this one back
    if (f->convention == kCData) return Py_TYPE(f->function)->tp_call(f->function, argument, nullptr);
    return f->code(f->self, argument);
  } catch (abi::__forced_unwind &) {
    throw;  // the thread is being cancelled
  } catch (...) {
    if (current_thread_state() != state) PyEval_RestoreThread(state);  // cffi had released the GIL
    set_error(torch_.fatal_error);
    return nullptr;
  }
}

PyObject *wrong_count(const Function *f, const char *expected, Py_ssize_t count) {
  PyErr_Format(PyExc_TypeError, "%s() takes %s (%zd given)", name_of(f), expected, count);
  return nullptr;
}

// As the interpreter would, with new references to the arguments, which it takes.
PyObject *call_code(const Function *f, PyObject **arguments, Py_ssize_t count) {
  if (f->convention == METH_VARARGS || f->convention == kCData) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; ++i)
      if (tuple) PyTuple_SET_ITEM(tuple, i, arguments[i]);
      else Py_DECREF(arguments[i]);
    if (!tuple) return nullptr;
    PyObject *result = enter(f, tuple);
    Py_DECREF(tuple);
    return result;
  }
  PyObject *result = nullptr;
  if (f->convention == METH_O)
    result = count == 1 ? enter(f, arguments[0]) : wrong_count(f, "exactly one argument", count);
  else result = count == 0 ? enter(f, nullptr) : wrong_count(f, "no arguments", count);
  for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(arguments[i]);
  return result;
}

PyObject *fresh_tensor(const Function *f) {
  PyObject *number = PyLong_FromLong(f->result_type);
  PyObject *made = number ? PyObject_CallFunctionObjArgs(f->types->fresh, number, nullptr) : nullptr;
  Py_XDECREF(number);
  return made;
}

// The Python object for the struct that C code returned; a null pointer is None.
PyObject *given_to_python(const Function *f, void *returned, Loans &loans) {
  const bool is_storage = f->result == kStorage;
  PyObject *owner = loans.owner_of(returned, is_storage);
  if (owner && !is_storage) {
    opw_th_give_back(returned);
    return new_reference(owner);
  }
  PyObject *tensor = fresh_tensor(f);
  void *impl = tensor ? tensor_impl(tensor) : nullptr;
  const bool good = impl && guarded([&] {
                      if (is_storage) opw_th_give_storage(returned, impl, loans.given(), loans.count());
                      else opw_th_give(returned, impl);
                    });
  PyObject *result = !good        ? nullptr
                     : owner      ? new_reference(owner)
                     : is_storage ? PyObject_CallFunctionObjArgs(f->types->as_storage, tensor, nullptr)
                                  : new_reference(tensor);
  Py_XDECREF(tensor);
  return result;
}

PyObject *converted(const Function *f, PyObject *cdata, Loans &loans) {
  PyObject *number = PyObject_CallFunctionObjArgs(f->types->address, cdata, nullptr);
  void *returned = number ? PyLong_AsVoidPtr(number) : nullptr;
  Py_XDECREF(number);
  Py_DECREF(cdata);
  if (PyErr_Occurred()) return nullptr;
  return returned ? given_to_python(f, returned, loans) : new_reference(Py_None);
}

PyObject *call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords) {
  auto *f = reinterpret_cast<Function *>(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (keywords && PyTuple_GET_SIZE(keywords)) {
    PyErr_Format(PyExc_TypeError, "%s() takes no keyword arguments", name_of(f));
    return nullptr;
  }
  if (!guarded([] { opw_th_begin(); })) return nullptr;
  Loans loans(f->types, arguments, static_cast<size_t>(count));
  Room<PyObject *> given(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if ((given[i] = loans.lend(i))) continue;
    while (i-- > 0) Py_DECREF(given[i]);
    return nullptr;
  }
  PyObject *result = call_code(f, given.items(), count);
  if (result && f->result != kOther) result = converted(f, result, loans);
  if (!loans.settle()) Py_CLEAR(result);
  return result;
}

void delete_function(PyObject *self) {
  auto *f = reinterpret_cast<Function *>(self);
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(f->function);
  Py_XDECREF(f->types);
  Py_XDECREF(f->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *show_function(PyObject *self) {
  return PyUnicode_FromFormat("<C function %s of an extension>", name_of(reinterpret_cast<Function *>(self)));
}

// Its name: copy.deepcopy keeps it as it is, as it does with Python's functions, and pickle looks it up.
PyObject *reduce_function(PyObject *self, PyObject *) { return PyObject_GetAttrString(self, "__name__"); }

PyMethodDef function_methods[] = {
    {"__reduce__", &reduce_function, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef function_attributes[] = {
    {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot function_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(&delete_function)},
    {Py_tp_repr, reinterpret_cast<void *>(&show_function)},
    {Py_tp_call, reinterpret_cast<void *>(&PyVectorcall_Call)},
    {Py_tp_members, function_members},
    {Py_tp_getset, function_attributes},
    {Py_tp_methods, function_methods},
    {Py_tp_getattro, reinterpret_cast<void *>(&PyObject_GenericGetAttr)},
    {Py_tp_setattro, reinterpret_cast<void *>(&PyObject_GenericSetAttr)},
    {0, nullptr},
};

PyType_Spec function_spec = {"opwright.legacy.calls.Function", sizeof(Function), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             function_slots};

void delete_types(PyObject *self) {
  auto *types = reinterpret_cast<Types *>(self);
  PyTypeObject *type = Py_TYPE(self);
  for (int i = 0; types->pools && i < kTypes; ++i)
    for (const auto &entry : types->pools[i]) opw_th_forget(entry.lent), Py_DECREF(entry.cdata);
  delete[] types->pools;
  for (PyObject *part : {types->cast, types->address, types->fresh, types->as_storage, types->tensors, types->storages})
    Py_XDECREF(part);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot types_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(&delete_types)}, {0, nullptr}};
PyType_Spec types_spec = {"opwright.legacy.calls.Types", sizeof(Types), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, types_slots};

PyTypeObject *function_type, *types_type;

// types(cast, address, fresh, as_storage, tensors, storages)
PyObject *new_types(PyObject *, PyObject *arguments) {
  PyObject *parts[6];
  if (!PyArg_ParseTuple(arguments, "OOOOO!O!", &parts[0], &parts[1], &parts[2], &parts[3], &PyTuple_Type, &parts[4],
                        &PyTuple_Type, &parts[5]))
    return nullptr;
  auto *types = reinterpret_cast<Types *>(types_type->tp_alloc(types_type, 0));
  if (!types) return nullptr;
  PyObject **fields[] = {&types->cast,       &types->address, &types->fresh,
                         &types->as_storage, &types->tensors, &types->storages};
  for (int i = 0; i < 6; ++i) *fields[i] = new_reference(parts[i]);
  types->pools = new std::vector<Types::Entry>[kTypes];
  return reinterpret_cast<PyObject *>(types);
}

// function(cffi's function, types, kind of result, number of its type)
PyObject *new_function(PyObject *, PyObject *arguments) {
  PyObject *function, *types;
  int result, result_type;
  if (!PyArg_ParseTuple(arguments, "OO!ii", &function, types_type, &types, &result, &result_type)) return nullptr;
  const bool cdata = !PyCFunction_Check(function);
  const int convention = cdata ? kCData : PyCFunction_GetFlags(function) & ~(METH_CLASS | METH_STATIC | METH_COEXIST);
  if (!cdata && convention != METH_VARARGS && convention != METH_O && convention != METH_NOARGS) {
    PyErr_Format(PyExc_TypeError, "%R is called in a way that cffi's functions aren't", function);
    return nullptr;
  }
  auto *made = reinterpret_cast<Function *>(function_type->tp_alloc(function_type, 0));
  if (!made) return nullptr;
  made->vectorcall = &call;
  made->function = new_reference(function);
  made->code = cdata ? nullptr : PyCFunction_GetFunction(function);
  made->self = cdata ? nullptr : PyCFunction_GetSelf(function);
  made->convention = convention;
  made->result = result, made->result_type = result_type;
  made->types = reinterpret_cast<Types *>(new_reference(types));
  return reinterpret_cast<PyObject *>(made);
}

// start(Tensor, UntypedStorage, TypedStorage, FatalError, storage_facts, the descriptor of Tensor._cdata)
PyObject *start(PyObject *, PyObject *arguments) {
  PyObject *descriptor;
  if (!PyArg_ParseTuple(arguments, "OOOOOO", &torch_.tensor, &torch_.untyped_storage, &torch_.typed_storage,
                        &torch_.fatal_error, &torch_.storage_facts, &descriptor))
    return nullptr;
  for (PyObject *kept : {torch_.tensor, torch_.untyped_storage, torch_.typed_storage, torch_.fatal_error,
                         torch_.storage_facts, descriptor})
    Py_INCREF(kept);  // for the process's life
  torch_.cdata = PyUnicode_InternFromString("_cdata");
  if (Py_TYPE(descriptor) == &PyGetSetDescr_Type) {
    const PyGetSetDef *definition = reinterpret_cast<PyGetSetDescrObject *>(descriptor)->d_getset;
    torch_.get_cdata = definition->get, torch_.get_cdata_closure = definition->closure;
  }
  return new_reference(Py_None);
}

PyMethodDef functions[] = {
    {"start", &start, METH_VARARGS, nullptr},
    {"types", &new_types, METH_VARARGS, nullptr},
    {"function", &new_function, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_opwright_calls", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace opw::th

PyMODINIT_FUNC PyInit__opwright_calls() {
  using namespace opw::th;
  function_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&function_spec));
  types_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&types_spec));
  return function_type && types_type ? PyModule_Create(&module) : nullptr;
}
