#include <opwright.h>

// Lists of tensors: of any rank, of own sizes, overwritten, beside tensors, as residuals.

OPWRIGHT("axpy(xs: list[T[each ...]], ys: list[T[each ...]], a: float) -> (zs: list[T[each ...]])")
template <class T>
void axpy(List<const T> xs, List<const T> ys, double a, List<T> zs) {
  for (int64_t i = 0; i < xs.size(); ++i) {
    const Tensor<const T> x = xs[i], y = ys[i];
    const Tensor<T> z = zs[i];
    for (int64_t j = 0; j < x.numel(); ++j) z[j] = T(a) * x[j] + y[j];
  }
}

OPWRIGHT("axpy_backward(grad_zs: list[T[each ...]], a: float) -> (grad_xs: list[T[each ...]], grad_ys: list[T[each ...]])")
template <class T>
void axpy_backward(List<const T> grad_zs, double a, List<T> grad_xs, List<T> grad_ys) {
  for (int64_t i = 0; i < grad_xs.size(); ++i)  // none where they aren't wanted
    for (int64_t j = 0; j < grad_zs[i].numel(); ++j) grad_xs[i][j] = T(a) * grad_zs[i][j];
  if (grad_ys)
    for (int64_t i = 0; i < grad_zs.size(); ++i)
      for (int64_t j = 0; j < grad_zs[i].numel(); ++j) grad_ys[i][j] = grad_zs[i][j];
}

OPWRIGHT("axpy_backward_backward(grad_grad_xs: list[T[each ...]], grad_grad_ys: list[T[each ...]], a: float) -> (grad_grad_zs: list[T[each ...]])")
template <class T>
void axpy_backward_backward(List<const T> grad_grad_xs, List<const T> grad_grad_ys, double a, List<T> grad_grad_zs) {
  axpy<T>(grad_grad_xs, grad_grad_ys, a, grad_grad_zs);
}

// Sums of squares of each, and of all in each row: strided elements, a shared axis, results of both kinds. A residual is kept.
OPWRIGHT("squares(xs: list[T[M, each N]], w: T[M]) -> (each_one: list[T[]], total: T[M]; doubled: list[T[each N, M]])")
template <class T>
void squares(StridedList<const T, 2> xs, Tensor<const T, 1> w, List<T, 0> each_one, Tensor<T, 1> total, List<T, 2> doubled) {
  for (int64_t m = 0; m < w.size(0); ++m) total[m] = 0;
  for (int64_t i = 0; i < xs.size(); ++i) {
    each_one[i]() = 0;
    for (int64_t m = 0; m < xs[i].size(0); ++m)
      for (int64_t n = 0; n < xs[i].size(1); ++n) {
        const T value = w[m] * xs[i](m, n) * xs[i](m, n);
        each_one[i]() += value, total[m] += value;
        if (doubled) doubled[i](n, m) = 2 * xs[i](m, n);
      }
  }
}

// Writes both gradients without a test: one that isn't wanted has memory all the same.
OPWRIGHT("squares_backward(grad_each_one: list[T[]], grad_total: T[M], doubled: list[T[each N, M]], w: T[M]) -> (grad_xs: list[T[M, each N]], grad_w: T[M])")
template <class T>
void squares_backward(List<const T, 0> grad_each_one, Tensor<const T, 1> grad_total, List<const T, 2> doubled,
                      Tensor<const T, 1> w, List<T, 2> d_xs, Tensor<T, 1> d_w) {
  for (int64_t m = 0; m < w.size(0); ++m) d_w[m] = 0;
  for (int64_t i = 0; i < doubled.size(); ++i)
    for (int64_t n = 0; n < doubled[i].size(0); ++n)
      for (int64_t m = 0; m < doubled[i].size(1); ++m) {
        const T d = doubled[i](n, m), g = grad_each_one[i]() + grad_total[m];
        d_w[m] += g * d * d / 4;
        d_xs[i](m, n) = g * w[m] * d;
      }
}

OPWRIGHT("scale_(xs: list[T[each N]]!, by: T[])")
template <class T>
void scale_(List<T, 1> xs, Tensor<const T, 0> by) {
  for (Tensor<T, 1> x : xs)
    for (int64_t j = 0; j < x.size(0); ++j) x[j] = x[j] * by();
}

OPWRIGHT("scale__backward(grad_xs: list[T[each N]], by: T[]) -> (grad_xs: list[T[each N]])")
template <class T>
void scale__backward(List<const T, 1> grad_new, Tensor<const T, 0> by, List<T, 1> grad_old) {
  for (int64_t i = 0; i < grad_new.size(); ++i)
    for (int64_t j = 0; j < grad_new[i].size(0); ++j) grad_old[i][j] = grad_new[i][j] * by();
}

// Parts of x, of the sizes that others have, less k; what is left of it is as long as the kernel says.
OPWRIGHT("split(x: T[N], likes: list[T[each M]], k: int) -> (parts: list[T[each M - k]], rest: T[?R<=N])")
template <class T>
void split(Tensor<const T, 1> x, List<const T, 1> likes, int64_t k, List<T, 1> parts, Resizable<T, 1> rest) {
  int64_t at = 0, count = 0;
  for (Tensor<T, 1> part : parts)
    for (int64_t j = 0; j < part.size(0); ++j) part[j] = at < x.size(0) ? x[at++] : T(0);
  while (at < x.size(0)) rest[count++] = x[at++];
  rest.resize(count);
}

// Two lists whose lengths have nothing to do with each other, one of them of bools.
OPWRIGHT("counts(xs: list[f32[each N]], masks: list[bool[M]]) -> (sizes: i64[2])")
void counts(List<const float, 1> xs, List<const bool, 1> masks, Tensor<int64_t, 1> sizes) {
  sizes[0] = sizes[1] = 0;
  for (auto x : xs) sizes[0] += x.size(0);
  for (auto mask : masks)
    for (int64_t j = 0; j < mask.size(0); ++j) sizes[1] += mask[j];
  OPWRIGHT_CHECK(xs.size() < 4, "too many: ", xs.size());
}
