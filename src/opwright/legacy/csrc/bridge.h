// What the callable (csrc_python/callable.cpp) asks the library for: plain C, so that neither knows the other's headers.
// Where PyTorch's objects are meant they are passed as void *: c10::TensorImpl (Tensor._cdata), c10::StorageImpl.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifndef OPW_EXPORT_C
#define OPW_EXPORT_C extern "C" __attribute__((visibility("default")))
#endif

namespace opw::th {

// The types' numbers: CPU's seven, then CUDA's, in the order of every_type.h.
constexpr int kTypes = 15;

// An argument of the running call, and the struct that C gets for it.
struct Given {
  void *impl;
  void *lent;
  int is_storage;
};

// Each may throw. A call begins with this.
OPW_EXPORT_C void opw_th_begin();
OPW_EXPORT_C int opw_th_type_of(void *tensor, const char **why);  // -1: none, and why
OPW_EXPORT_C int opw_th_type_of_storage(void *storage, int wanted, const char **why);

// A struct for this tensor: `pooled` (null: a new one). `earlier` are the call's arguments so far; those that share memory
// share one storage in C, too.
OPW_EXPORT_C void *opw_th_lend(void *tensor, void *pooled, const Given *earlier, int count);
OPW_EXPORT_C void *opw_th_lend_storage(void *storage, int type, const Given *earlier, int count);
// After the call, last argument first: Python's tensor follows the struct, which may be pooled unless C code keeps it.
OPW_EXPORT_C void opw_th_settle(void *lent, void *tensor, int *reusable);
OPW_EXPORT_C void opw_th_settle_storage(void *lent);
OPW_EXPORT_C void opw_th_forget(void *pooled);

// What C code returned: it belongs to Python now. `fresh` is an empty tensor of its type, which shares its memory then.
OPW_EXPORT_C void opw_th_give(void *returned, void *fresh);
OPW_EXPORT_C void opw_th_give_storage(void *returned, void *fresh, const Given *given, int count);
// The same where it is an argument: C code may have retained it for its caller, as it should, or not.
OPW_EXPORT_C void opw_th_give_back(void *lent);

// The text of the exception that is being handled; the caller frees it.
OPW_EXPORT_C char *opw_th_current_text();

}  // namespace opw::th
