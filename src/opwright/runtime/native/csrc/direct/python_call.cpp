// Calls from Python on the direct path: the type that operators have there, and what it does when it is called.
//
// Python.h is missing on many machines, and the runtime links no Python, so that one binary serves every version: functions of
// Python's stable ABI are declared here and looked up in the process. Two facts aren't part of it: where an object has its
// type, and where PyTorch's objects have their tensor. Both are compared with what is known of objects that are there
// (`find_python`, `opw_direct_start`); where they differ, and where a name is missing, calls go PyTorch's own way.
#include <dlfcn.h>

#include <cstring>
#include <exception>
#include <unordered_map>

#include "direct/direct.h"
#include "messages.h"

struct _object {
  intptr_t references;
  _object *type;
};

namespace opw {
namespace {

using Object = _object;

struct Slot {
  int id;
  void *function;
};
struct Spec {
  const char *name;
  int basic_size, item_size;
  unsigned flags;
  Slot *slots;
};
constexpr int kCall = 50;                 // Py_tp_call
constexpr unsigned kBaseType = 1u << 10;  // Py_TPFLAGS_BASETYPE

// Functions of the stable ABI, by their names.
#define OPW_PYTHON_FUNCTIONS(X)                                        \
  X(Object *, PyDict_New, ())                                          \
  X(intptr_t, PyDict_Size, (Object *))                                 \
  X(Object *, PyErr_Occurred, ())                                      \
  X(void, PyErr_Clear, ())                                             \
  X(int, PyErr_ExceptionMatches, (Object *))                           \
  X(void, PyErr_Fetch, (Object **, Object **, Object **))              \
  X(void, PyErr_NormalizeException, (Object **, Object **, Object **)) \
  X(void, PyErr_Restore, (Object *, Object *, Object *))               \
  X(void, PyErr_SetObject, (Object *, Object *))                       \
  X(void *, PyEval_SaveThread, ())                                     \
  X(void, PyEval_RestoreThread, (void *))                              \
  X(int, PyException_SetTraceback, (Object *, Object *))               \
  X(double, PyFloat_AsDouble, (Object *))                              \
  X(double, PyLong_AsDouble, (Object *))                               \
  X(long long, PyLong_AsLongLongAndOverflow, (Object *, int *))        \
  X(Object *, PyObject_Call, (Object *, Object *, Object *))           \
  X(Object *, PyObject_GetAttrString, (Object *, const char *))        \
  X(Object *, PyObject_CallFunctionObjArgs, (Object *, ...))           \
  X(Object *, PyTuple_GetItem, (Object *, intptr_t))                   \
  X(Object *, PyTuple_New, (intptr_t))                                 \
  X(int, PyTuple_SetItem, (Object *, intptr_t, Object *))              \
  X(intptr_t, PyTuple_Size, (Object *))                                \
  X(Object *, PyType_FromSpecWithBases, (Spec *, Object *))            \
  X(const char *, PyUnicode_AsUTF8AndSize, (Object *, intptr_t *))     \
  X(void, Py_DecRef, (Object *))                                       \
  X(void, Py_IncRef, (Object *))
#define OPW_PYTHON_OBJECTS(X) \
  X(PyBool_Type)              \
  X(PyFloat_Type)             \
  X(PyLong_Type)              \
  X(PyUnicode_Type)           \
  X(_Py_NoneStruct)           \
  X(_Py_TrueStruct)
// Of libtorch_python. Whichever way PyTensor_Wrap takes its argument, it is the address of a tensor that is ours afterwards.
using Wrap = Object *(*)(at::TensorBase *);
using Translate = void (*)(const std::exception_ptr &);
const char *const kWrap[] = {"_Z16THPVariable_WrapON2at10TensorBaseE", "_Z16THPVariable_WrapRKN2at10TensorBaseE",
                             "_Z16THPVariable_WrapN2at10TensorBaseE"};
const char *const kTranslate = "_ZN5torch29translate_exception_to_pythonERKNSt15__exception_ptr13exception_ptrE";

struct Python {
#define OPW_DECLARE(result, name, parameters) result(*name) parameters = nullptr;
  OPW_PYTHON_FUNCTIONS(OPW_DECLARE)
#undef OPW_DECLARE
#define OPW_DECLARE(name) Object *name = nullptr;
  OPW_PYTHON_OBJECTS(OPW_DECLARE)
#undef OPW_DECLARE
  Object **PyExc_RuntimeError = nullptr;
  Object **tensor_class = nullptr, **parameter_class = nullptr;
  Wrap wrap = nullptr;
  Translate translate = nullptr;
  size_t tensor_at = 0;  // where an object has its tensor

  bool is_tensor(const Object *o) const { return o->type == *tensor_class || o->type == *parameter_class; }
  const at::Tensor &tensor(const Object *o) const {
    return *reinterpret_cast<const at::Tensor *>(reinterpret_cast<const char *>(o) + tensor_at);
  }
} python;

template <class T>
bool look_up(void *library, const char *name, T &into) {
  return (into = reinterpret_cast<T>(dlsym(library, name))) != nullptr;
}

// The name that isn't there; none if all are.
const char *find_python() {
#define OPW_FIND(result, name, parameters) \
  if (!look_up(RTLD_DEFAULT, #name, python.name)) return #name;
  OPW_PYTHON_FUNCTIONS(OPW_FIND)
#undef OPW_FIND
#define OPW_FIND(name) \
  if (!look_up(RTLD_DEFAULT, #name, python.name)) return #name;
  OPW_PYTHON_OBJECTS(OPW_FIND)
#undef OPW_FIND
  if (!look_up(RTLD_DEFAULT, "PyExc_RuntimeError", python.PyExc_RuntimeError)) return "PyExc_RuntimeError";
  void *torch_python = dlopen("libtorch_python.so", RTLD_NOW | RTLD_NOLOAD);
  if (!torch_python) return "libtorch_python.so";
  if (!look_up(torch_python, "THPVariableClass", python.tensor_class)) return "THPVariableClass";
  if (!look_up(torch_python, "ParameterClass", python.parameter_class)) return "ParameterClass";
  if (!look_up(torch_python, kTranslate, python.translate)) return "translate_exception_to_python";
  for (const char *name : kWrap)
    if (look_up(torch_python, name, python.wrap)) return nullptr;
  return "THPVariable_Wrap";
}

// By the object that is called: an overload, or a packet. Under the GIL.
std::unordered_map<const Object *, std::unique_ptr<Direct>> &known() {
  static auto *all = new std::unordered_map<const Object *, std::unique_ptr<Direct>>;
  return *all;
}
struct Recent {
  const Object *object;
  const Direct *direct;
} recent[256];

const Direct *find(const Object *object) {
  Recent &last = recent[reinterpret_cast<uintptr_t>(object) / 16 % std::size(recent)];
  if (C10_LIKELY(last.object == object)) return last.direct;
  const auto found = known().find(object);
  last = {object, found == known().end() ? nullptr : found->second.get()};
  return last.direct;
}

// Whether the parameter takes the object as it is; PyTorch's parser knows more.
bool read(const Parameter &parameter, Object *object, Given &given) {
  using Is = Given::Is;
  if (object == python._Py_NoneStruct) return parameter.takes_none;
  given.is = parameter.takes;
  switch (parameter.takes) {
    case Is::Tensor:
      if (!python.is_tensor(object)) return false;
      given.tensor = c10::MaybeOwned<at::Tensor>::borrowed(python.tensor(object));
      return given.tensor->defined();
    case Is::Float:
      if (object->type == python.PyFloat_Type) given.number.f = python.PyFloat_AsDouble(object);
      else if (object->type == python.PyLong_Type) given.number.f = python.PyLong_AsDouble(object);
      else return false;
      break;
    case Is::Int: {
      int overflow = 0;
      if (object->type != python.PyLong_Type) return false;
      given.number.i = python.PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow) return false;
      break;
    }
    case Is::Bool:
      if (object->type != python.PyBool_Type) return false;
      given.number.i = object == python._Py_TrueStruct;
      return true;
    case Is::Text: {
      intptr_t length = 0;
      if (object->type != python.PyUnicode_Type) return false;
      const char *text = python.PyUnicode_AsUTF8AndSize(object, &length);
      if (text) given.text = std::string_view(text, static_cast<size_t>(length));
      break;
    }
    case Is::None: return false;
  }
  if (C10_LIKELY(!python.PyErr_Occurred())) return true;
  python.PyErr_Clear();  // too large a number, lone surrogates: an error for PyTorch's parser to raise
  return false;
}

bool read(const Direct &direct, Object *args, Arguments &arguments) {
  const auto count = static_cast<size_t>(python.PyTuple_Size(args)), expected = direct.parameters.size();
  if (count > expected) return false;
  arguments.resize(expected);
  for (size_t i = 0; i < count; ++i)
    if (!read(direct.parameters[i], python.PyTuple_GetItem(args, static_cast<intptr_t>(i)), arguments[i])) return false;
  for (size_t i = count; i < expected; ++i) {
    if (!direct.parameters[i].can_be_left_out) return false;
    arguments[i] = direct.parameters[i].otherwise;
  }
  return true;
}

Object *wrapped(Results &results) {
  if (results.size() == 1) return python.wrap(&results[0]);
  if (results.empty()) {
    python.Py_IncRef(python._Py_NoneStruct);
    return python._Py_NoneStruct;
  }
  Object *tuple = python.PyTuple_New(static_cast<intptr_t>(results.size()));
  for (size_t i = 0; tuple && i < results.size(); ++i) {
    Object *item = python.wrap(&results[i]);
    if (item) {
      python.PyTuple_SetItem(tuple, static_cast<intptr_t>(i), item);  // takes the reference
      continue;
    }
    python.Py_DecRef(tuple);
    tuple = nullptr;
  }
  return tuple;
}

class WithoutGil {
 public:
  WithoutGil() : thread_(python.PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;
  ~WithoutGil() { python.PyEval_RestoreThread(thread_); }

 private:
  void *thread_;
};

// Whether the call was one for the direct path; `result` is null where it raised.
bool attempt(const Direct &direct, Object *args, Object **result) {
  try {
    Arguments arguments;
    if (!read(direct, args, arguments)) return false;
    const Direct *chosen = direct.chosen(arguments);
    if (C10_UNLIKELY(!chosen)) return false;  // the dispatcher's way has the error
    const Way way = way_of(*chosen, arguments);
    if (way == Way::Dispatcher) return false;
    Results results;
    {
      const WithoutGil released;
      run(*chosen, way, arguments, results);
    }
    *result = wrapped(results);
  } catch (...) {
    *result = nullptr;
    python.translate(std::current_exception());
  }
  return true;
}

// For a RuntimeError: the error that `explain` gives for it.
Object *explained(Object *explain, Object *self, Object *args, Object *kwargs) {
  if (!python.PyErr_ExceptionMatches(*python.PyExc_RuntimeError)) return nullptr;
  Object *type = nullptr, *error = nullptr, *traceback = nullptr;
  python.PyErr_Fetch(&type, &error, &traceback);
  python.PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback) python.PyException_SetTraceback(error, traceback);
  Object *named = kwargs;
  if (named) python.Py_IncRef(named);
  else named = python.PyDict_New();
  Object *told = named ? python.PyObject_CallFunctionObjArgs(explain, error, self, args, named, nullptr) : nullptr;
  if (told) python.PyErr_SetObject(told->type, told);
  for (Object *o : {type, error, traceback, named, told})
    if (o) python.Py_DecRef(o);
  return nullptr;
}

// `which`: one type for overloads, one for packets, each with its function that explains errors.
Object *explain_by[2] = {};

template <int which>
Object *call(Object *self, Object *args, Object *kwargs) {
  Object *result = nullptr;
  const Direct *direct = find(self);
  if (direct && !(kwargs && python.PyDict_Size(kwargs)) && attempt(*direct, args, &result)) {
    if (C10_LIKELY(result != nullptr)) return result;
    return explained(explain_by[which], self, args, kwargs);
  }
  Object *function = python.PyObject_GetAttrString(self, "_op");  // PyTorch's, or what stands in for it
  if (!function) return nullptr;
  result = python.PyObject_Call(function, args, kwargs);
  python.Py_DecRef(function);
  return result ? result : explained(explain_by[which], self, args, kwargs);
}

}  // namespace
}  // namespace opw

using namespace opw;

// Prepares the direct path; the text says why there is none. `tensor` has its TensorImpl at `address`.
OPW_EXPORT const char *opw_direct_start(_object *tensor, const void *address, _object *truth, _object *type_of_truth) {
  static std::string reason;
  if (const char *name = find_python()) {
    reason = std::string("this process has no ") + name;
    return reason.c_str();
  }
  if (truth != python._Py_TrueStruct || truth->type != type_of_truth || type_of_truth != python.PyBool_Type)
    return "this Python's objects are laid out in another way";
  for (const size_t at : {sizeof(_object), sizeof(_object) + sizeof(void *)}) {  // until 2.9, a flag came before it
    const void *there = nullptr;
    std::memcpy(&there, reinterpret_cast<const char *>(tensor) + at, sizeof(there));
    if (there == address) python.tensor_at = at;
  }
  if (!python.tensor_at || !python.is_tensor(tensor)) return "this PyTorch's tensors are laid out in another way";
  return nullptr;
}

// A subclass of `base`, which adds nothing but another way to be called. `which`: 0 for overloads, 1 for packets.
// `explain` gets a RuntimeError, the object that was called, the arguments by place and by name; gives the error to raise.
OPW_EXPORT _object *opw_direct_type(int32_t which, const char *name, _object *base, _object *explain) {
  Slot slots[] = {{kCall, reinterpret_cast<void *>(which ? &call<1> : &call<0>)}, {0, nullptr}};
  Spec spec{name, 0, 0, kBaseType, slots};
  python.Py_IncRef(explain);
  explain_by[which] = explain;
  python.Py_IncRef(base);
  _object *bases = python.PyTuple_New(1);
  python.PyTuple_SetItem(bases, 0, base);
  _object *type = python.PyType_FromSpecWithBases(&spec, bases);
  python.Py_DecRef(bases);
  return type;
}

namespace opw {
namespace {

int32_t set_direct(_object *object, std::unique_ptr<Direct> made) {
  auto &all = known();
  for (auto &each : recent)
    if (each.object == object) each = {};
  const bool possible = made != nullptr;
  if (const auto before = all.find(object); before != all.end()) {
    // Never freed: a call under way in another thread may still read it.
    static auto *retired = new std::vector<std::unique_ptr<Direct>>;
    retired->push_back(std::move(before->second));
    before->second = std::move(made);
    return possible;
  }
  python.Py_IncRef(object);  // its address stays its own
  all.emplace(object, std::move(made));
  return possible;
}

}  // namespace
}  // namespace opw

// From now on calls of `object`, an overload or a packet, run `op`; none: PyTorch's way alone. Returns whether there is a direct
// path for it.
OPW_EXPORT int32_t opw_direct_set(_object *object, const Operator *op) {
  return set_direct(object, op ? direct(*op) : nullptr);
}

// The same for what chooses between alternatives.
OPW_EXPORT int32_t opw_direct_choose(_object *object, const Chooser *chooser) {
  return set_direct(object, direct(*chooser));
}
