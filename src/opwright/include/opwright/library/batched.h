/* The loop over the leading axes of a `batched` operator, for generated code: each kernel sees the core axes alone. */
#ifndef OPWRIGHT_BATCHED_H
#define OPWRIGHT_BATCHED_H

#include "../elements/element_size.h"
#include "library.h"
#include "../services/parallel.h"

namespace opwright {
namespace detail {

/* The tensors of a call at one place along its leading axes. */
struct Batched {
  const opw_call *call;
  const unsigned char *ranks; /* of each tensor's core */
  int count;
  const int64_t *sizes = nullptr; /* of the leading axes */
  int leading = 0;
  int64_t places = 1, largest = 1; /* how many places; the elements of the largest core */

  void look() {
    for (int i = 0; i < count; ++i) {
      const opw_tensor &t = call->tensors[i];
      if (!t.present) continue;
      sizes = t.sizes, leading = t.ndim - ranks[i];
      const int64_t core = elements(t);
      largest = core > largest ? core : largest;
    }
    for (int d = 0; d < leading; ++d) places *= sizes[d];
  }
  int64_t elements(const opw_tensor &t) const {
    int64_t n = 1;
    for (int d = leading; d < t.ndim; ++d) n *= t.sizes[d];
    return n;
  }
  void at(int64_t place, opw_tensor *tensors) const {
    for (int i = 0; i < count; ++i) {
      opw_tensor t = call->tensors[i];
      if (t.present) {
        int64_t rest = place, offset = 0;
        for (int d = leading - 1; d >= 0; --d) offset += rest % sizes[d] * t.strides[d], rest /= sizes[d];
        if (t.data) t.data = static_cast<char *>(t.data) + offset * bytes_of(t.dtype);
        t.numel = elements(t), t.ndim -= leading, t.sizes += leading, t.strides += leading;
      }
      tensors[i] = t;
    }
  }
};

/* Runs `body` at every place along the leading axes, on PyTorch's threads where there is enough to do; in CUDA sources, where
 * it launches kernels, one after the other in this thread. */
template <class F>
void batched(const opw_call *call, const unsigned char *ranks, int count, const F &body) {
  Batched loop{call, ranks, count};
  loop.look();
#ifdef OPWRIGHT_CUDA_TEXT
  const int64_t grain = loop.places;
#else
  const int64_t grain = default_grain / loop.largest;
#endif
  parallel_for(loop.places, grain, [&](int64_t begin, int64_t end) {
    opw_tensor tensors[64];
    opw_call one = *call;
    one.tensors = tensors;
    for (int64_t place = begin; place < end; ++place) {
      loop.at(place, tensors);
      body(Arguments{&one});
    }
  });
}

}  // namespace detail
}  // namespace opwright
#endif
