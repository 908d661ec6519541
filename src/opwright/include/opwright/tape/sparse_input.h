/* A large input of a taped call: an element becomes a number of the tape when its block is first read.
 *
 * The memory of numbers is reserved for the whole input, so that they have their addresses, and references stay what they are;
 * what isn't read of it isn't touched. Views say which elements they are about to read (tensors/reading.h); who has a pointer may
 * read any, so whatever gives one has all of them turned.
 */
#ifndef OPWRIGHT_SPARSE_INPUT_H
#define OPWRIGHT_SPARSE_INPUT_H

#include "../dual.h"
#include "../elements/element_size.h"
#include "../tensors/reading.h"
#include "reserved.h"
#include "taped_memory.h"

/* Of inputs whose numbers take at least so much memory only what is read is turned. */
#ifndef OPWRIGHT_SPARSE_FROM
#define OPWRIGHT_SPARSE_FROM (int64_t(16) << 20)
#endif

namespace opwright {
namespace detail {

template <class S>
class SparseInput {
 public:
  using T = Dual<S, taped>;
  using R = base<S>;

  /* The numbers of a tensor, which stay as they are while it stays the same. `directions`: their tangents, or null; `first`: the
   * index on the tape of the first number, 0: they are constants. */
  T *numbers_of(const opw_tensor &values, const opw_tensor *directions, uint32_t first) {
    const opw_tensor none = {};
    const opw_tensor &tangents = directions ? *directions : none;
    if (numbers_ && values.data == values_.data && tangents.data == directions_.data && first == first_)
      return numbers_;
    values_ = values, directions_ = tangents, first_ = first, numel_ = uint64_t(values.numel);
    numbers_ = memory_.template zeros<T>(values.numel + 1); /* one more: an address behind the last is no read */
    all_ = false;
    turned_ = flags_.template zeros<char>((values.numel + block - 1) / block);
    return numbers_;
  }
  OPWRIGHT_INLINE void read(const T *number) {
    if (!number->index) look(number); /* it isn't turned, or a constant */
  }
  void read(const T *low, const T *high) {
    const T *const last = numbers_ + numel_ - 1;
    if (!numel_ || high < numbers_ || low > last) return;
    low = low < numbers_ ? numbers_ : low, high = high > last ? last : high;
    for (int64_t at = (low - numbers_) / block; at <= (high - numbers_) / block; ++at)
      if (!turned_[at]) turn(at);
  }
  void read_all() {
    if (!all_) read(numbers_, numbers_ + numel_);
    all_ = true;
  }
  uint32_t first() const { return first_; }
  /* Calls run(begin, end) for the elements that were turned. */
  template <class F>
  void each_turned(const F &run) const {
    for (int64_t begin = 0; begin < int64_t(numel_); begin += block)
      if (turned_[begin / block]) run(begin, end_of(begin));
  }

 private:
  static constexpr int64_t block = 64;

  int64_t end_of(int64_t begin) const { return begin + block < int64_t(numel_) ? begin + block : int64_t(numel_); }
  __attribute__((noinline)) void look(const T *number) {
    const uint64_t at = uint64_t(number - numbers_);
    if (at < numel_ && !turned_[at / block]) turn(int64_t(at / block));
  }
  void turn(int64_t at) {
    const int64_t begin = at * block, end = end_of(begin);
    const R *const values = elements(values_, begin, end);
    for (int64_t k = begin; k < end; ++k) numbers_[k] = T(S(values[k - begin]), first_ ? uint32_t(first_ + k) : 0);
    if constexpr (is_dual<S>::value)
      if (directions_.data) {
        const R *const tangents = elements(directions_, begin, end);
        for (int64_t k = begin; k < end; ++k) numbers_[k].value.partial[0] = tangents[k - begin];
      }
    turned_[at] = 1;
  }
  const R *elements(opw_tensor of, int64_t begin, int64_t end) {
    of.data = static_cast<char *>(of.data) + begin * bytes_of(of.dtype), of.numel = end - begin;
    return plain_.template read<R>(of, 0, 1);
  }

  T *numbers_ = nullptr;
  char *turned_ = nullptr; /* of each block, whether it was */
  bool all_ = false;
  uint64_t numel_ = 0;
  uint32_t first_ = 0;
  opw_tensor values_ = {}, directions_ = {};
  Reserved memory_, flags_;
  Plain plain_;
};

}  // namespace detail
}  // namespace opwright
#endif
