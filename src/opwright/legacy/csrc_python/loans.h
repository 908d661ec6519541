// The arguments of a running call that are lent to C, and the pools their structs come from.
#pragma once
#include <cstring>
#include <memory>
#include <vector>

#include "bridge.h"
#include "python.h"

namespace opw::th {

// The structs of one extension: its ffi has types of its own, and a cdata of each struct that was ever lent.
struct Types {
  PyObject_HEAD PyObject *cast;  // ffi.cast
  PyObject *address;             // of a cdata, as an int
  PyObject *fresh;               // an empty tensor of a type, by its number
  PyObject *as_storage;          // a tensor's storage
  PyObject *tensors;             // ctypes by number; None where the ffi hasn't that one
  PyObject *storages;
  struct Entry {
    void *lent;
    PyObject *cdata;
  };
  std::vector<Entry> *pools;  // by number: what no call uses
};

constexpr size_t kPooled = 64;  // of one type; more than that were in use at once, by recursion or threads

// Room for one item for each argument.
template <class T>
class Room {
 public:
  explicit Room(size_t size) : large_(size > kSmall ? new T[size] : nullptr), items_(large_ ? large_.get() : small_) {}
  T *items() { return items_; }
  T &operator[](size_t i) { return items_[i]; }

 private:
  static constexpr size_t kSmall = 12;
  T small_[kSmall];
  std::unique_ptr<T[]> large_;
  T *items_;
};

class Loans {
 public:
  Loans(Types *types, PyObject *const *arguments, size_t count)
      : types_(types), arguments_(arguments), given_(count), slots_(count) {}
  ~Loans() { settle(); }
  Loans(const Loans &) = delete;
  Loans &operator=(const Loans &) = delete;

  // A new reference to what cffi gets for argument i, or null with Python's error set.
  PyObject *lend(size_t i) {
    PyObject *argument = arguments_[i];
    PyTypeObject *type = Py_TYPE(argument);
    if (type == &PyFloat_Type || type == &PyLong_Type) return new_reference(argument);
    if (is_a(type, torch_.tensor)) return lend_tensor(argument, i);
    if (is_a(type, torch_.untyped_storage) || is_a(type, torch_.typed_storage)) return lend_storage(argument, i);
    return new_reference(argument);
  }

  // Python's tensors follow what C did. False: an error, which is set unless there was one already.
  bool settle() {
    if (!count_) return true;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    bool good = true;
    while (count_ > 0) good &= settle_last();
    if (type) PyErr_Restore(type, value, trace);
    return good;
  }

  // The argument whose struct is at `address`.
  PyObject *owner_of(const void *address, bool is_storage) {
    for (int i = 0; i < count_; ++i)
      if (given_[i].lent == address && !given_[i].is_storage == !is_storage) return arguments_[slots_[i].argument];
    return nullptr;
  }
  const Given *given() { return given_.items(); }
  int count() const { return count_; }

 private:
  struct Slot {
    PyObject *cdata = nullptr;  // an own reference
    int number = 0;
    size_t argument = 0;
  };

  static bool is_a(PyTypeObject *type, PyObject *base) {
    return type == reinterpret_cast<PyTypeObject *>(base) ||
           PyType_IsSubtype(type, reinterpret_cast<PyTypeObject *>(base));
  }

  PyObject *refuse(PyObject *argument, size_t i, const char *why) {
    PyObject *dtype = PyObject_GetAttrString(argument, "dtype"),
             *device = dtype ? PyObject_GetAttrString(argument, "device") : nullptr;
    PyErr_Clear();  // an untyped storage has no dtype
    PyObject *of = dtype && device ? PyUnicode_FromFormat(" of %S on %S", dtype, device) : PyUnicode_FromString("");
    Py_XDECREF(dtype);
    Py_XDECREF(device);
    if (!of) return nullptr;
    PyErr_Format(PyExc_TypeError,
                 "argument %zu, %.200s%U, %s\n"
                 "  expected:   a dense tensor or a storage of float64, float32, int64, int32, int16, int8, uint8 or "
                 "bool, on CUDA "
                 "also float16",
                 i + 1, Py_TYPE(argument)->tp_name, of, why);
    Py_DECREF(of);
    return nullptr;
  }

  PyObject *lend_tensor(PyObject *argument, size_t i) {
    void *impl = tensor_impl(argument);
    if (!impl) return nullptr;
    for (int k = 0; k < count_; ++k)
      if (given_[k].impl == impl && !given_[k].is_storage) return new_reference(slots_[k].cdata);
    const char *why = nullptr;
    const int number = opw_th_type_of(impl, &why);
    if (number < 0) return refuse(argument, i, why);
    Types::Entry entry{};
    auto &pool = types_->pools[number];
    if (!pool.empty()) entry = pool.back(), pool.pop_back();
    void *pooled = entry.lent;
    const bool lent = guarded([&] { entry.lent = opw_th_lend(impl, pooled, given(), count_); });
    if (!lent) {
      if (pooled) pool.push_back(entry);
      return nullptr;
    }
    given_[count_] = {impl, entry.lent, 0};
    slots_[count_] = {entry.cdata, number, i};
    ++count_;
    if (!entry.cdata) entry.cdata = slots_[count_ - 1].cdata = cast(types_->tensors, number, entry.lent, argument, i);
    return entry.cdata ? new_reference(entry.cdata) : nullptr;
  }

  PyObject *lend_storage(PyObject *argument, size_t i) {
    StorageFacts facts;
    if (!storage_facts(argument, facts)) return nullptr;
    const char *why = nullptr;
    const int number = opw_th_type_of_storage(facts.impl, facts.scalar_type, &why);
    if (number < 0) return refuse(argument, i, why);
    void *lent = nullptr;
    if (!guarded([&] { lent = opw_th_lend_storage(facts.impl, number, given(), count_); })) return nullptr;
    given_[count_] = {facts.impl, lent, 1};
    slots_[count_] = {nullptr, number, i};
    ++count_;
    return cast(types_->storages, number, lent, argument, i);
  }

  PyObject *cast(PyObject *ctypes, int number, void *address, PyObject *argument, size_t i) {
    PyObject *ctype = PyTuple_GetItem(ctypes, number);
    if (!ctype) return nullptr;
    if (ctype == Py_None) return refuse(argument, i, "has a type that this extension doesn't know");
    PyObject *number_of_address = PyLong_FromVoidPtr(address);
    if (!number_of_address) return nullptr;
    PyObject *cdata = PyObject_CallFunctionObjArgs(types_->cast, ctype, number_of_address, nullptr);
    Py_DECREF(number_of_address);
    return cdata;
  }

  bool settle_last() {
    const Given given = given_[--count_];
    const Slot slot = slots_[count_];
    if (given.is_storage) {
      opw_th_settle_storage(given.lent);
      return true;
    }
    int reusable = 0;
    bool good = guarded([&] { opw_th_settle(given.lent, given.impl, &reusable); });
    auto &pool = types_->pools[slot.number];
    if (reusable && slot.cdata && pool.size() < kPooled) {
      pool.push_back({given.lent, slot.cdata});
      return good;
    }
    if (reusable) opw_th_forget(given.lent);
    Py_XDECREF(slot.cdata);
    return good;
  }

  Types *types_;
  PyObject *const *arguments_;
  Room<Given> given_;
  Room<Slot> slots_;
  int count_ = 0;
};

}  // namespace opw::th
