/* What generated code needs to export kernels: from the C ABI's call to the author's function. */
#ifndef OPWRIGHT_LIBRARY_H
#define OPWRIGHT_LIBRARY_H

#include "../check.h"
#include "../elements/half.h"
#include "../host.h"
#include "../tensors/list.h"
#include "../tensors/optional.h"
#include "../services/random.h"
#include "../tensors/resizable.h"
#include "../tensors/tensor.h"
#include "../services/watched.h"

namespace opwright {
namespace detail {

/* Becomes whatever view the function's parameter is. */
struct TensorArgument {
  const opw_tensor &t;

  template <class T, int N>
  operator Tensor<T, N>() const {
    T *data = static_cast<T *>(t.data);
    if constexpr (N == any_rank) {
      return Tensor<T, N>(data, t.sizes, t.ndim, t.numel, t.present != 0);
    } else {
      check_rank(N);
      return Tensor<T, N>(data, t.sizes, t.present != 0);
    }
  }
  template <class T, int N>
  operator Strided<T, N>() const {
    check_rank(N);
    return Strided<T, N>(static_cast<T *>(t.data), t.sizes, t.strides, t.present != 0);
  }
  template <class T, int N>
  operator List<T, N>() const {
    return List<T, N>(static_cast<const opw_tensor *>(t.data), t.numel, t.present != 0);
  }
  template <class T, int N>
  operator StridedList<T, N>() const {
    return StridedList<T, N>(static_cast<const opw_tensor *>(t.data), t.numel, t.present != 0);
  }
  template <class T>
  operator T *() const {
    return all_read(static_cast<T *>(t.data));
  }
#ifdef OPWRIGHT_CUDA_TEXT
  template <class T, int N, template <class> class PtrTraits, class I>
  operator PackedTensorAccessor<T, N, PtrTraits, I>() const {
    check_rank(N);
    return PackedTensorAccessor<T, N, PtrTraits, I>(static_cast<T *>(t.data), t.sizes, t.strides, t.present != 0);
  }
#endif

 private:
  void check_rank(int rank) const {
    if (t.present && t.ndim != rank) refuse("the kernel takes a tensor of rank ", rank, ", got rank ", t.ndim);
  }
};

/* Becomes the Resizable that the function's parameter is. */
struct ResizableArgument {
  const opw_call *call;
  int index;
  const char *name;

  template <class T, int N>
  operator Resizable<T, N>() const {
    return Resizable<T, N>(call, index, name);
  }
};

/* Becomes the integer type of the function's parameter, if the value fits. */
struct IntegerArgument {
  int64_t value;
  const char *name;

  operator bool() const { return value != 0; }
  template <class I>
  operator I() const {
    const I narrow = static_cast<I>(value);
    if (static_cast<int64_t>(narrow) != value || (narrow < I(0)) != (value < 0))
      refuse(name, " is ", value, ", which doesn't fit the kernel's ", I(-1) < I(0) ? "" : "unsigned ", "parameter of ",
             int(sizeof(I)), " bytes");
    return narrow;
  }
};

/* Becomes double, or float if the value doesn't overflow there. */
struct RealArgument {
  double value;
  const char *name;

  operator double() const { return value; }
  operator float() const {
    /* As bits: -ffast-math compares no infinities. */
    const uint64_t magnitude = bit_cast<uint64_t>(value) & ~(uint64_t(1) << 63);
    constexpr uint64_t first_that_overflows = 0x47effffff0000000, infinity = 0x7ff0000000000000;
    if (magnitude >= first_that_overflows && magnitude < infinity)
      refuse(name, " is ", value, ", which doesn't fit the kernel's parameter of type float");
    return static_cast<float>(value);
  }
};

/* Becomes a std::string_view, a std::string, or a const char * if no byte of it is zero. */
struct StringArgument {
  const char *text;
  int64_t length;
  const char *name;

  template <class S, class = decltype(S(static_cast<const char *>(nullptr), size_t()))>
  operator S() const {
    return S(text, static_cast<size_t>(length));
  }
  operator const char *() const {
    if (length && __builtin_memchr(text, 0, static_cast<size_t>(length)))
      refuse(name, " has a zero byte, which ends a string in C");
    return text;
  }
};

/* Becomes a std::array of N numbers, or a pointer to them. T: double, int64_t, bool. */
template <int N, class T>
struct FixedListArgument {
  const opw_scalar *first;
  const char *name;

  template <class O, class V = typename O::value_type, class = decltype(static_cast<O *>(nullptr)->max_size())>
  operator O() const {
    O list{};
    for (int i = 0; i < N; ++i) {
      const V element = at(first[i], static_cast<T *>(nullptr));
      list[static_cast<size_t>(i)] = element;
    }
    return list;
  }
  operator const T *() const { return reinterpret_cast<const T *>(first); }

 private:
  RealArgument at(const opw_scalar &scalar, double *) const { return {scalar.f, name}; }
  template <class I>
  IntegerArgument at(const opw_scalar &scalar, I *) const {
    return {scalar.i, name};
  }
};

/* Becomes a view of rank 1 of numbers. */
template <class T>
struct OpenListArgument {
  const char *data;
  const int64_t *length;

  template <int N>
  operator Tensor<const T, N>() const {
    const T *const elements = reinterpret_cast<const T *>(data);
    if constexpr (N == any_rank) return Tensor<const T, N>(elements, length, 1, *length, true);
    else return Tensor<const T, N>(elements, length, true);
  }
};

/* Becomes a std::optional, or an opwright::Optional. */
template <class Argument>
struct OptionalArgument {
  Argument value;
  bool given;

  template <class T>
  operator Optional<T>() const {
    return {given ? converted<T>() : T(), given};
  }
  template <class O, class T = typename O::value_type, class = decltype(static_cast<O *>(nullptr)->has_value())>
  operator O() const {
    return given ? O(converted<T>()) : O();
  }

 private:
  template <class T>
  T converted() const {
    T result = value;  // not a cast: a string_view could be made of a const char *, too
    return result;
  }
};

/* Becomes the stream that the function's parameter is: a cudaStream_t. */
struct StreamArgument {
  void *stream;

  template <class S>
  operator S *() const {
    return static_cast<S *>(stream);
  }
};

struct Arguments {
  const opw_call *call;
  TensorArgument tensor(int i) const { return {call->tensors[i]}; }
  RealArgument real(int i, const char *name) const { return {call->scalars[i].f, name}; }
  IntegerArgument integer(int i, const char *name) const { return {call->scalars[i].i, name}; }
  template <int N, class T>
  FixedListArgument<N, T> fixed_list(int i, const char *name) const {
    return {call->scalars + i, name};
  }
  template <class T>
  OpenListArgument<T> open_list(int i, const char *) const {
    return {call->scalars[i].s, &call->scalars[i + 1].i};
  }
  StringArgument string(int i, const char *name) const { return {call->scalars[i].s, call->scalars[i + 1].i, name}; }
  OptionalArgument<RealArgument> optional_real(int i, const char *name) const { return {real(i, name), given(i + 1)}; }
  OptionalArgument<IntegerArgument> optional_integer(int i, const char *name) const {
    return {integer(i, name), given(i + 1)};
  }
  OptionalArgument<StringArgument> optional_string(int i, const char *name) const {
    return {string(i, name), given(i + 2)};
  }
  IntegerArgument axis(int i, const char *name) const { return {call->axes[i], name}; }
  ResizableArgument resizable(int i, const char *name) const { return {call, i, name}; }
  int64_t &count(int i) const { return *static_cast<int64_t *>(call->tensors[i].data); }
  Generator rng() const { return Generator(*call->rng); }
  StreamArgument stream() const { return {call->stream}; }

 private:
  bool given(int i) const { return call->scalars[i].i != 0; }
};

/* Memory for results that nobody wants but that the kernel writes without a test: those of the tensors in the bit mask. */
inline void provide(const opw_call *call, uint64_t untested) {
  for (int i = 0; untested; ++i, untested >>= 1) {
    if (!(untested & 1) || call->tensors[i].present || !call->resize) continue;
    if (call->resize(call->resize_context, i, nullptr))
      refuse(
          "there is no memory for a result that isn't wanted, and that the kernel writes all the same\n"
          "  likely fix: test it before it is written: if (grad_x) ...");
  }
}

/* Copies input `from` to result `to`, where that is wanted, before the kernel overwrites it; T: its elements. Each has strides
 * of its own: a result of a `batched` operator lies in memory as the arguments do. */
template <class T>
void keep_old(const opw_call *call, int from, int to) {
  const opw_tensor &x = call->tensors[from], &old = call->tensors[to];
  if (!x.present || !old.present) return;
  for (int64_t k = 0; k < old.numel; ++k) {
    int64_t rest = k, at = 0, to_be_at = 0;
    for (int d = old.ndim - 1; d >= 0; --d) {
      const int64_t index = rest % old.sizes[d];
      at += index * x.strides[d], to_be_at += index * old.strides[d], rest /= old.sizes[d];
    }
    static_cast<T *>(old.data)[to_be_at] = static_cast<const T *>(x.data)[at];
  }
}
/* Keeps the seed and the offset of the call's random numbers in result `to`. */
inline void keep_random(const opw_call *call, int to) {
  if (!call->tensors[to].present) return;
  int64_t *const state = static_cast<int64_t *>(call->tensors[to].data);
  const opw_rng &rng = *call->rng;
  state[0] = rng.seed_pointer ? *rng.seed_pointer : int64_t(rng.seed);
  state[1] = int64_t(rng.offset) + (rng.offset_pointer ? *rng.offset_pointer : 0);
}

/* Nothing that is thrown crosses the ABI. */
template <class F>
int32_t guarded(const opw_call *call, const F &body) noexcept {
#ifdef OPWRIGHT_WATCHED
  meet();
#endif
  try {
    body(Arguments{call});
    return 0;
  } catch (const Failure &failure) {
    call->fail(call->fail_context, failure.message.text(), failure.message.length());
  } catch (...) {
    const Message message =
        thrown("a C++ exception left the kernel", "; use OPWRIGHT_CHECK(condition, message...) for errors");
    call->fail(call->fail_context, message.text(), message.length());
  }
  return 1;
}

inline const opw_library *open(const opw_host *given, const opw_library &library) {
  if (given->abi_version != OPWRIGHT_ABI_VERSION || given->size < sizeof(opw_host)) return nullptr;
  /* Several threads may come here at once, while others are in kernels already: written once, it is read without ado. */
  const opw_host *before = nullptr;
  if (!__atomic_compare_exchange_n(&host, &before, given, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) && before != given)
    __atomic_store_n(&host, given, __ATOMIC_RELEASE);
  return &library;
}

}  // namespace detail
}  // namespace opwright
#endif
