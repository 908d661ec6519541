// CUDA's tensors and storages: every list of TH's once more, and what only THC has.
#include <c10/core/DeviceGuard.h>

#include <cstdarg>

#include "operands.h"
#include "thc.h"

namespace opw::th {
namespace {

int gpu_of(const Tensor *t) { return t->storage->device; }

// Null pointers, and tensors without memory of a GPU, are no reason to complain.
bool all_on(int gpu, unsigned count, va_list tensors) {
  bool good = true;
  for (unsigned i = 0; i < count; ++i) {
    const auto *t = va_arg(tensors, const Tensor *);
    good &= !t || gpu_of(t) < 0 || gpu_of(t) == gpu;
  }
  return good;
}

// An index that lies on the CPU, where the tensor is.
struct Moved {
  Moved(const Tensor *index, const Tensor *to) : made(new_from(view(index).to(view(to).device()))) {}
  ~Moved() { release(made); }
  Moved(const Moved &) = delete;
  Moved &operator=(const Moved &) = delete;
  operator Tensor *() const { return made; }
  Tensor *made;
};

}  // namespace
}  // namespace opw::th

#define OPW_CUDA

#define OPW_LIST "storage.list"
#include "every_type.h"
#define OPW_LIST "structure.list"
#include "every_type.h"
#define OPW_LIST "elements.list"
#include "every_type.h"
#define OPW_LIST "arrange.list"
#include "every_type.h"
#define OPW_LIST "pointwise.list"
#include "every_type.h"
#define OPW_LIST "products.list"
#include "every_type.h"
#define OPW_LIST "reduce.list"
#include "every_type.h"
#define OPW_LIST "thc.list"
#include "every_type.h"
#define OPW_LIST "thc_random.list"
#include "every_type.h"

#undef OPW_CUDA

// Of TH's own tensors: copies from a GPU.
#define OPW_LIST "thc_host.list"
#include "every_type.h"
