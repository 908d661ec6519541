// Operands of any element type as dense arrays of the type that is computed in.
#pragma once

#include <opwright/emulation/libraries/blas.h>
#include <opwright/elements/half.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace opwright::emulation::blas {

struct Half { uint16_t bits; };
struct Bfloat16 { uint16_t bits; };

template <class T> constexpr bool is_complex = false;
template <class T> constexpr bool is_complex<std::complex<T>> = true;
template <class T> struct PartOf { using type = T; };
template <class T> struct PartOf<std::complex<T>> { using type = T; };
template <class T> using Part = typename PartOf<T>::type;

template <class T> constexpr cudaDataType type_of = CUDA_R_32I;
template <> inline constexpr cudaDataType type_of<float> = CUDA_R_32F;
template <> inline constexpr cudaDataType type_of<double> = CUDA_R_64F;
template <> inline constexpr cudaDataType type_of<std::complex<float>> = CUDA_C_32F;
template <> inline constexpr cudaDataType type_of<std::complex<double>> = CUDA_C_64F;

// Calls f with a value of the type; false for one that isn't known here.
template <class F> bool with_type(cudaDataType type, F f) {
  switch (type) {
    case CUDA_R_16F: return f(Half{}), true;
    case CUDA_R_16BF: return f(Bfloat16{}), true;
    case CUDA_R_32F: return f(float{}), true;
    case CUDA_R_64F: return f(double{}), true;
    case CUDA_C_32F: return f(std::complex<float>{}), true;
    case CUDA_C_64F: return f(std::complex<double>{}), true;
    case CUDA_R_8I: return f(int8_t{}), true;
    case CUDA_R_32I: return f(int32_t{}), true;
    default: return false;
  }
}
inline size_t size_of(cudaDataType type) {
  size_t bytes = 0;
  with_type(type, [&](auto value) { bytes = sizeof value; });
  return bytes;
}
inline bool type_is_complex(cudaDataType type) { return type == CUDA_C_32F || type == CUDA_C_64F; }

// Calls f with a value of the type to compute in; false for one that can't be.
template <class F> bool with_compute(cudaDataType type, F f) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_32F: return f(float{}), true;
    case CUDA_R_64F: return f(double{}), true;
    case CUDA_C_32F: return f(std::complex<float>{}), true;
    case CUDA_C_64F: return f(std::complex<double>{}), true;
    case CUDA_R_32I: return f(int32_t{}), true;
    default: return false;
  }
}

template <class T, class S> T loaded(S stored) {
  if constexpr (std::is_same_v<S, Half>) return T(::opwright::detail::from_float16(stored.bits));
  else if constexpr (std::is_same_v<S, Bfloat16>) return T(::opwright::detail::from_bfloat16(stored.bits));
  else if constexpr (is_complex<T> && !is_complex<S>) return T(Part<T>(stored));
  else if constexpr (is_complex<T>) return T(Part<T>(stored.real()), Part<T>(stored.imag()));
  else if constexpr (is_complex<S>) return T(stored.real());
  else return T(stored);
}
template <class S, class T> S stored(T value) {
  if constexpr (is_complex<T> && is_complex<S>) return S(Part<S>(value.real()), Part<S>(value.imag()));
  else if constexpr (is_complex<T>) return stored<S>(value.real());
  else if constexpr (std::is_same_v<S, Half>) return {::opwright::detail::to_float16(float(value))};
  else if constexpr (std::is_same_v<S, Bfloat16>) return {::opwright::detail::to_bfloat16(float(value))};
  else if constexpr (std::is_same_v<S, int8_t>) return S(std::clamp<double>(double(value), -128, 127));
  else if constexpr (is_complex<S>) return S(Part<S>(value));
  else return S(value);
}

// A matrix in memory: `columns` columns of `rows` elements, `ld` apart.
struct View {
  char *data;
  cudaDataType type;
  Index rows, columns, ld;

  bool touched(const Called &called, const char *name, bool writes) const {
    const size_t bytes = size_of(type);
    return may_touch(data, ld * bytes, rows * bytes, columns, writes, name, called);
  }
};

template <class T> struct Dense {
  Index rows = 0, columns = 0;
  std::vector<T> data;

  Dense() = default;
  Dense(Index m, Index n) : rows(m), columns(n), data(size_t(m * n)) {}
  T &operator()(Index i, Index j) { return data[size_t(i + j * rows)]; }
  const T &operator()(Index i, Index j) const { return data[size_t(i + j * rows)]; }
};

template <class T> void load(const View &view, Dense<T> *into) {
  *into = Dense<T>(view.rows, view.columns);
  with_type(view.type, [&](auto kind) {
    using S = decltype(kind);
    for (Index j = 0; j < view.columns; ++j) {
      const S *column = reinterpret_cast<const S *>(view.data) + j * view.ld;
      for (Index i = 0; i < view.rows; ++i) (*into)(i, j) = loaded<T>(column[i]);
    }
  });
}
template <class T> void store(const View &view, const Dense<T> &from) {
  with_type(view.type, [&](auto kind) {
    using S = decltype(kind);
    for (Index j = 0; j < view.columns; ++j) {
      S *column = reinterpret_cast<S *>(view.data) + j * view.ld;
      for (Index i = 0; i < view.rows; ++i) column[i] = stored<S>(from(i, j));
    }
  });
}

// The state behind a handle; of an operation, the call with its stream.
struct Running {
  Called called;
  bool device_scalars;
};
// False: the handle isn't one (CUBLAS_STATUS_NOT_INITIALIZED).
bool running(const Call &call, Running *run);

// alpha, beta: one element, of a type of its own.
template <class T> bool scalar(const Running &run, Scalar at, cudaDataType type, const char *name, T *value) {
  const View view{static_cast<char *>(const_cast<void *>(at)), type, 1, 1, 1};
  if (!at || (run.device_scalars && !view.touched(run.called, name, false))) return false;
  with_type(type, [&](auto kind) {
    std::memcpy(&kind, at, sizeof kind);
    *value = loaded<T>(kind);
  });
  return true;
}
template <class T> bool give(const Running &run, void *at, cudaDataType type, T value) {
  const View view{static_cast<char *>(at), type, 1, 1, 1};
  if (!at || (run.device_scalars && !view.touched(run.called, "result", true))) return false;
  with_type(type, [&](auto kind) {
    kind = stored<decltype(kind)>(value);
    std::memcpy(at, &kind, sizeof kind);
  });
  return true;
}

// The memory of one matrix of a batch; null where the array of pointers can't be read.
inline char *matrix_of(const Running &run, const Operand &operand, Index at, const char *name) {
  char *data = static_cast<char *>(const_cast<void *>(operand.data));
  if (!operand.pointers) return data + at * operand.stride * Index(size_of(operand.type));
  char *const *place = reinterpret_cast<char *const *>(data) + at;
  return may_touch(place, sizeof *place, sizeof *place, 1, false, name, run.called) ? *place : nullptr;
}
inline View view_of(const Operand &operand, Index rows, Index columns) {
  return {static_cast<char *>(const_cast<void *>(operand.data)), operand.type, rows, columns, operand.ld};
}

// A vector as one row; backwards where its step is negative.
template <class T> struct Vector {
  View view;
  bool backwards;
  Dense<T> dense;

  Vector(const Operand &x, Index n) : view(view_of(x, 1, n)), backwards(x.ld < 0) {
    if (backwards) view.ld = -view.ld;
  }
  bool read(const Running &run, const char *name) {
    if (!view.touched(run.called, name, false)) return false;
    load(view, &dense);
    if (backwards) std::reverse(dense.data.begin(), dense.data.end());
    return true;
  }
  bool may_write(const Running &run, const char *name) const { return view.touched(run.called, name, true); }
  void write() {
    if (backwards) std::reverse(dense.data.begin(), dense.data.end());
    store(view, dense);
  }
  void empty() { dense = Dense<T>(1, view.columns); }
  T &operator[](Index i) { return dense.data[size_t(i)]; }
};

// f(T{}) for the type; what it returns, or CUBLAS_STATUS_NOT_SUPPORTED, said.
template <class F> cublasStatus_t computed(const Running &run, cudaDataType type, F f) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if (with_compute(type, [&](auto kind) { status = f(kind); })) return status;
  refuse_call(run.called, ("nothing here computes in cudaDataType " + std::to_string(int(type))).c_str());
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
inline bool known(const Running &run, std::initializer_list<cudaDataType> types) {
  for (const cudaDataType each : types)
    if (!size_of(each)) {
      refuse_call(run.called, ("cudaDataType " + std::to_string(int(each)) + " isn't known here").c_str());
      return false;
    }
  return true;
}

template <class T> T conjugated(T value) {
  if constexpr (is_complex<T>) return std::conj(value);
  else return value;
}

}  // namespace opwright::emulation::blas
