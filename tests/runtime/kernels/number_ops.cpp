// Pointwise operators that are called with Python numbers, for test_python_numbers.py.
#include <opwright.h>

OPWRIGHT("axpy(a: T, x: T, y: T) -> (z: T)")
template <class T>
T axpy(T a, T x, T y) {
  return a * x + y;
}

OPWRIGHT("plus(x: T, y: T) -> (z: T) where T in (f16, bf16, f32, f64, bool, u8, i16, i32, i64)")
template <class T>
T plus(T x, T y) {
  return x + y;
}

OPWRIGHT("chosen(x: T, mask: M, count: i32, by: f32, w: T?) -> (y: T) where M in (bool)")
template <class T, class M>
T chosen(T x, M mask, int32_t count, float by, Optional<T> w) {
  return (mask ? x * T(count) : x * T(by)) + (w ? *w : T(0));
}

OPWRIGHT("scale_(x: T!, by: T)")
template <class T>
void scale_(T &x, T by) {
  x = x * by;
}

OPWRIGHT("rows(x: T[N], by: T[]) -> (y: T[N]) batched")
template <class T>
void rows(Tensor<const T, 1> x, Tensor<const T, 0> by, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * by();
}
