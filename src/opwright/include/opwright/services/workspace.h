/* Memory for the time of a call, from PyTorch's own allocator: `Workspace<float> w(n); w[i] = ...`. Not initialised. */
#ifndef OPWRIGHT_WORKSPACE_H
#define OPWRIGHT_WORKSPACE_H

#include "../check.h"
#include "../host.h"
#ifdef OPWRIGHT_EMULATION
#include "../emulation/check.h"
#endif

namespace opwright {

template <class T>
class Workspace {
 public:
  explicit Workspace(int64_t n, void *stream = nullptr) : size_(n), stream_(stream) {
    if (n < 0) detail::refuse("a workspace can't hold ", n, " elements");
    if (uint64_t(n) > uint64_t(PTRDIFF_MAX) / sizeof(T))
      detail::refuse("a workspace of ", n, " elements is larger than memory");
    if (n > 0) data_ = static_cast<T *>(detail::host->allocate(size_t(n) * sizeof(T), stream));
    if (n > 0 && !data_) detail::refuse("no memory for a workspace of ", n, " elements of ", int(sizeof(T)), " bytes");
    if constexpr (!__is_trivially_constructible(T)) /* a number on a tape (tape.h), which zeros are a constant of */
      if (n > 0) __builtin_memset(static_cast<void *>(data_), 0, size_t(n) * sizeof(T));
#ifdef OPWRIGHT_EMULATION
    emulation::lend(data_, size_t(n) * sizeof(T), "a workspace", sizeof(T),
                    __is_trivially_constructible(T) ? emulation::Use::written : emulation::Use::changed);
#endif
  }
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  ~Workspace() {
#ifdef OPWRIGHT_EMULATION
    emulation::take_back(data_);
#endif
    if (data_) detail::host->release(data_, stream_);
  }
  T *data() const { return data_; }
  int64_t size() const { return size_; }
  T &operator[](int64_t i) const { return data_[i]; }

 private:
  static_assert(__is_trivially_copyable(T), "workspace elements are raw memory");
  T *data_ = nullptr;
  int64_t size_;
  void *stream_;
};

}  // namespace opwright
#endif
