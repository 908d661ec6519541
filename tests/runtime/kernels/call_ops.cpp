// Operators that tell how they were called.
#include <opwright.h>

OPWRIGHT("copy(x: T[...]) -> (y: T[...]) where T in (u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64, bool)")
template <class T>
void copy(Tensor<const T> x, Tensor<T> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i];
}

OPWRIGHT("rank(x: T[...]) -> (sizes: i64[8], strides: i64[8], ndim: i64[])")
template <class T>
void rank(Tensor<const T> x, Tensor<int64_t, 1> sizes, Tensor<int64_t, 1> strides, Tensor<int64_t, 0> ndim) {
  ndim() = x.ndim();
  for (int d = 0; d < 8; ++d) sizes[d] = d < x.ndim() ? x.size(d) : -1, strides[d] = d < x.ndim() ? x.stride(d) : -1;
}

// What a tensor parameter is given: the address, the strides, and the elements in row-major order.
OPWRIGHT("strided(x: T[M, N]) -> (address: i64[], strides: i64[2], y: T[M, N])")
template <class T>
void strided(Strided<const T, 2> x, Tensor<int64_t, 0> address, Tensor<int64_t, 1> strides, Tensor<T, 2> y) {
  address() = x.numel() ? reinterpret_cast<int64_t>(&x(0, 0)) : 0;
  strides[0] = x.stride(0), strides[1] = x.stride(-1);
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = x[i][j];
}

OPWRIGHT("dense(x: T[M, N], b: Flag[]?) -> (address: i64[], y: T[M, N]) where Flag in (bool)")
template <class T, class Flag>
void dense(Tensor<const T, 2> x, Tensor<const Flag, 0>, Tensor<int64_t, 0> address, Tensor<T, 2> y) {
  address() = reinterpret_cast<int64_t>(x.data());
  for (int64_t i = 0; i < x.numel(); ++i) y.flat(i) = x.flat(i);
}

// Two type variables in the other order, and the type that halves are added up in.
OPWRIGHT("swap(x: T[N], y: U[N]) -> (u: U[N], t: T[N], sum: acc(T)[])")
template <class U, class T>
void swap(Tensor<const T, 1> x, Tensor<const U, 1> y, Tensor<U, 1> u, Tensor<T, 1> t, Tensor<acc<T>, 0> sum) {
  sum() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) u[i] = y[i], t[i] = x[i], sum() += x[i];
}

OPWRIGHT("scalars(x: T[], a: float, b: int, c: bool = True, d: float = -0.5) -> (y: f64[4])")
template <class T>
void scalars(Tensor<const T, 0>, float a, int32_t b, bool c, double d, Tensor<double, 1> y) {
  y[0] = a, y[1] = b, y[2] = c, y[3] = d;
}

OPWRIGHT("cell(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S]) -> (new_h: T[B, S])")
template <class T>
void cell(Tensor<const T, 2>, Tensor<const T, 2>, Tensor<const T, 1>, Tensor<const T, 2>, Tensor<T, 2> new_h) {
  for (int64_t i = 0; i < new_h.numel(); ++i) new_h.flat(i) = i;
}

// Axis equations, each kind of them.
OPWRIGHT("axes(x: T[2*A+1, B], y: T[B*C], z: T[C//2, A-1]) -> (sizes: i64[3], w: T[A+B, C//2*3])")
template <class T>
void axes(Tensor<const T, 2> x, Tensor<const T, 1> y, Tensor<const T, 2> z, Tensor<int64_t, 1> sizes, Tensor<T, 2>) {
  sizes[0] = z.size(1) + 1, sizes[1] = x.size(1), sizes[2] = x.size(1) ? y.size(0) / x.size(1) : 0;
}

OPWRIGHT("checked(x: T[N], k: int) -> (y: T[N])")
template <class T>
void checked(Tensor<const T, 1> x, int64_t k, Tensor<T, 1> y) {
  OPWRIGHT_CHECK(k > 0, "k is ", k, ", x has ", x.size(0), " elements");
  OPWRIGHT_CHECK(k < 3);
  for (int64_t i = 0; i < x.size(0); ++i) {
    OPWRIGHT_CHECK(x[i] == x[i], "x[", i, "] is NaN");
    y[i] = x[i];
  }
}
