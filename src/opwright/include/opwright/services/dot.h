/* Sums and updates of vectors, as BLAS has them, but in the kernel's own code:
 *
 *   dot(n, x, incx, y, incy)            x[0] y[0] + x[incx] y[incy] + ..., n products: an acc<T>, so of halves a float
 *   dot(x, y)                           the same of all elements of two views of one size, Tensor<T, N> or Strided<T, N>
 *   axpy(n, a, x, incx, y, incy)        y = a x + y
 *   axpy(a, x, y)                       the same of two vectors that are views of rank 1
 *   axpby(n, a, x, incx, b, y, incy)    y = a x + b y
 *   axpby(a, x, b, y)                   the same of views
 *
 * Element k of x is x[k * incx]; an increment may be negative, or 0 for a vector that isn't written. Of axpy and axpby x may be
 * y itself, but not overlap it otherwise. One of the two may be halves and the other float: it is computed in acc<T>, and each
 * element rounded once; other types beside one another don't compile. A sum is that of 16 sums side by side, so its order depends
 * on the sizes alone. In derived gradients each call is a single entry of the tape (dual_dot.h); x may be plain numbers then, and
 * either vector of a dot: constants.
 */
#ifndef OPWRIGHT_DOT_H
#define OPWRIGHT_DOT_H

#include "../check.h"
#include "../elements/floating.h"
#include "../tensors/tensor.h"

namespace opwright {
namespace detail {

constexpr int side_by_side = 16;

/* Whether two vectors are computed in one type, or one has derivatives and the other is constants. */
template <class A, class B>
struct computed_together {
  static constexpr bool value = is_dual<A>::value != is_dual<B>::value;
};
template <class A> struct computed_together<A, A> { static constexpr bool value = true; };
template <class T, class = integer> struct is_whole { static constexpr bool value = false; };
template <class T> struct is_whole<T, typename number<T>::type> { static constexpr bool value = true; };
template <class X, class Y>
constexpr bool are_vectors =
    computed_together<acc<X>, acc<Y>>::value && !is_whole<acc<X>>::value && !is_whole<acc<Y>>::value;

/* The type of a sum of products: of two that differ, the one with derivatives. */
template <class X, class Y, bool x_alone = is_dual<X>::value && !is_dual<Y>::value> struct sum { using type = acc<Y>; };
template <class X, class Y> struct sum<X, Y, true> { using type = acc<X>; };
template <class X, class Y> using sum_of = typename sum<X, Y>::type;

/* The sum of products of many runs: of each the same numbers side by side, so that no addition waits for the one before. */
template <class A>
struct Sums {
  A few[4] = {}, many = 0;

  /* Inlined with increments of 1 its loops are vectorised. */
  template <class X, class Y>
  OPWRIGHT_INLINE void add(int64_t n, const X *x, int64_t incx, const Y *y, int64_t incy) {
    int64_t i = 0;
    if (n >= side_by_side) {
      A sums[side_by_side] = {};
      for (; i + side_by_side <= n; i += side_by_side)
        for (int k = 0; k < side_by_side; ++k) sums[k] += A(x[(i + k) * incx]) * A(y[(i + k) * incy]);
      for (int half = side_by_side / 2; half; half /= 2)
        for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
      many += sums[0];
    }
    const auto product = [&](int64_t k) { return A(x[k * incx]) * A(y[k * incy]); };
    for (; i + 4 <= n; i += 4)
      for (int k = 0; k < 4; ++k) few[k] += product(i + k);
    if (i < n) few[0] += product(i);
    if (i + 1 < n) few[1] += product(i + 1);
    if (i + 2 < n) few[2] += product(i + 2);
  }
  OPWRIGHT_INLINE A all() const { return many + ((few[0] + few[1]) + (few[2] + few[3])); }
};

/* Calls run(offset in x, offset in y) for each run along the last axis. */
template <int N, class F>
OPWRIGHT_INLINE void each_run(const int64_t *sizes, const int64_t *incx, const int64_t *incy, const F &run,
                              int64_t x = 0, int64_t y = 0) {
  if constexpr (N == 1) run(x, y);
  else
    for (int64_t i = 0; i < sizes[0]; ++i)
      each_run<N - 1>(sizes + 1, incx + 1, incy + 1, run, x + i * incx[0], y + i * incy[0]);
}

/* Of numbers with derivatives, beside which constants may be (dual_dot.h); there is at least one element. */
template <int N, class X, class Y>
sum_of<X, Y> dot_of_duals(const int64_t *sizes, const X *x, const int64_t *incx, const Y *y, const int64_t *incy);
template <class X, class T>
void axpby_of_duals(int64_t n, const T &a, const X *x, int64_t incx, const T &b, T *y, int64_t incy);

template <int N, class X, class Y>
OPWRIGHT_INLINE sum_of<X, Y> dot_of(const int64_t *sizes, const X *x, const int64_t *incx, const Y *y,
                                    const int64_t *incy) {
  static_assert(are_vectors<X, Y>,
                "dot(x, y) is computed in acc<T>, one floating type for both: copy the vector of the other type to a "
                "Workspace<acc<T>>, or declare a table as acc<T>; of whole numbers write a loop");
  using A = sum_of<X, Y>;
  for (int d = 0; d < N; ++d)
    if (sizes[d] <= 0) return A(0);
  if constexpr (is_dual<A>::value) return dot_of_duals<N>(sizes, x, incx, y, incy);
  else {
    Sums<A> sums;
    const int64_t n = sizes[N - 1], one = incx[N - 1], other = incy[N - 1];
    if (one == 1 && other == 1)
      each_run<N>(sizes, incx, incy, [&](int64_t at_x, int64_t at_y) __attribute__((always_inline)) {
        sums.add(n, x + at_x, 1, y + at_y, 1);
      });
    else
      each_run<N>(sizes, incx, incy, [&](int64_t at_x, int64_t at_y) __attribute__((always_inline)) {
        sums.add(n, x + at_x, one, y + at_y, other);
      });
    return sums.all();
  }
}

template <class T> struct without_const { using type = T; };
template <class T> struct without_const<const T> { using type = T; };
template <class View> using element_of = typename without_const<typename View::element_type>::type;

}  // namespace detail

/* They end with an empty pack, as the functions of math.h: one that the author has under the same name is the better match. */
template <class X, class Y, class... None>
detail::sum_of<X, Y> dot(int64_t n, const X *x, int64_t incx, const Y *y, int64_t incy, None...) {
  return detail::dot_of<1>(&n, x, &incx, y, &incy);
}

template <class X, class Y, class... None, int N = X::ndim(),
          class A = detail::sum_of<detail::element_of<X>, detail::element_of<Y>>>
A dot(const X &x, const Y &y, None...) {
  static_assert(N > 0 && N == Y::ndim(), "dot(x, y) takes two views of one rank, which is at least 1");
  if (!x || !y) detail::refuse("dot(x, y) of a view of what isn't there\n  likely fix: test it before: if (x) ...");
  int64_t sizes[N], of_x[N], of_y[N], n = 1;
  for (int d = 0; d < N; ++d) {
    n *= sizes[d] = x.size(d), of_x[d] = x.stride(d), of_y[d] = y.stride(d);
    if (sizes[d] != y.size(d))
      detail::refuse("dot(x, y) takes views of the same sizes, but along axis ", d, " x has ", sizes[d],
                     " elements and y has ", y.size(d));
  }
  if (n == 0) return A(0);
  return detail::dot_of<N>(sizes, detail::ViewElements::first(x), of_x, detail::ViewElements::first(y), of_y);
}

template <class X, class Y, class... None>
void axpby(int64_t n, const detail::same<acc<Y>> &a, const X *x, int64_t incx, const detail::same<acc<Y>> &b, Y *y,
           int64_t incy, None...) {
  static_assert(detail::is_dual<Y>::value || !detail::is_dual<X>::value,
                "axpby would lose the derivative: declare what it writes, y, as T or acc<T>");
  static_assert(detail::are_vectors<X, Y> || detail::is_dual<X>::value,
                "axpby is computed in acc<T>, one floating type for x and y: copy the vector of the other type to a "
                "Workspace<acc<T>>, or declare a table as acc<T>; of whole numbers write a loop");
  if constexpr (detail::is_dual<Y>::value) {
    if (n > 0) detail::axpby_of_duals(n, a, x, incx, b, y, incy);
  } else if constexpr (!detail::is_dual<X>::value) {
    using A = acc<Y>;
    const A factor = a, share = b; /* either may be an element of y */
    if (incx == 1 && incy == 1)
      for (int64_t k = 0; k < n; ++k) y[k] = Y(factor * A(x[k]) + share * A(y[k]));
    else
      for (int64_t k = 0; k < n; ++k) y[k * incy] = Y(factor * A(x[k * incx]) + share * A(y[k * incy]));
  }
}
template <class X, class Y, class... None, int N = X::ndim(), class A = acc<detail::element_of<Y>>>
void axpby(const detail::same<A> &a, const X &x, const detail::same<A> &b, const Y &y, None...) {
  static_assert(N == 1 && Y::ndim() == 1, "axpby(a, x, b, y) takes two views of rank 1");
  if (!x || !y) detail::refuse("axpby of a view of what isn't there\n  likely fix: test it before: if (x) ...");
  if (x.size(0) != y.size(0))
    detail::refuse("axpby takes views of the same size, but x has ", x.size(0), " elements and y has ", y.size(0));
  if (x.size(0) == 0) return;
  axpby(x.size(0), a, detail::ViewElements::first(x), x.stride(0), b, detail::ViewElements::first(y), y.stride(0));
}
template <class X, class Y, class... None, int N = X::ndim(), class A = acc<detail::element_of<Y>>>
void axpy(const detail::same<A> &a, const X &x, const Y &y, None...) {
  axpby(a, x, A(1), y);
}
template <class X, class Y, class... None>
void axpy(int64_t n, const detail::same<acc<Y>> &a, const X *x, int64_t incx, Y *y, int64_t incy, None...) {
  axpby(n, a, x, incx, acc<Y>(1), y, incy);
}

}  // namespace opwright
#endif
