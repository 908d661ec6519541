// Python's side of things: what of PyTorch's classes is needed, and errors.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdlib>
#include <cstring>

#include "bridge.h"

namespace opw::th {

// PyTorch's classes; given once by calls.py.
struct Torch {
  PyObject *tensor, *typed_storage, *untyped_storage, *fatal_error;
  PyObject *storage_facts;  // of a typed storage: (the address of its StorageImpl, the number of its ScalarType)
  PyObject *cdata;          // the attribute's name
  getter get_cdata;         // and its getter
  void *get_cdata_closure;
};
inline Torch torch_;

inline PyObject *new_reference(PyObject *object) {
  Py_INCREF(object);
  return object;
}

// Raises the C++ exception that is being handled as `type`.
inline void set_error(PyObject *type) {
  char *text = opw_th_current_text();
  PyObject *decoded =
      PyUnicode_DecodeUTF8(text ? text : "", text ? static_cast<Py_ssize_t>(strlen(text)) : 0, "replace");
  std::free(text);
  if (!decoded) return;
  PyErr_SetObject(type, decoded);
  Py_DECREF(decoded);
}

template <class F>
bool guarded(F body) {
  try {
    body();
    return true;
  } catch (...) {
    set_error(torch_.fatal_error);
    return false;
  }
}

// An int that is an address; steals the reference. Null with an error set.
inline void *address_from(PyObject *number) {
  if (!number) return nullptr;
  void *address = PyLong_AsVoidPtr(number);
  Py_DECREF(number);
  if (!address && !PyErr_Occurred())
    PyErr_SetString(PyExc_ValueError, "_cdata is 0: there is nothing behind this object");
  return address;
}

inline void *tensor_impl(PyObject *tensor) {
  return address_from(torch_.get_cdata ? torch_.get_cdata(tensor, torch_.get_cdata_closure)
                                       : PyObject_GetAttr(tensor, torch_.cdata));
}

struct StorageFacts {
  void *impl = nullptr;
  int scalar_type = 0;
};

inline bool storage_facts(PyObject *storage, StorageFacts &facts) {
  PyObject *found = PyObject_CallFunctionObjArgs(torch_.storage_facts, storage, nullptr);
  if (!found) return false;
  PyObject *address = nullptr;
  const bool good = PyArg_ParseTuple(found, "Oi", &address, &facts.scalar_type);
  if (good) facts.impl = address_from(new_reference(address));
  Py_DECREF(found);
  return good && facts.impl;
}

}  // namespace opw::th
