/* Accumulate: sums that several threads add to, without races and with the same bits at any number of threads.
 *
 *   Accumulate sums(grad_w);                 any number of results: Accumulate sums(grad_w, grad_b)
 *   sums.parallel_for(n, grain, [&](int64_t begin, int64_t end, auto part) {
 *     for (int64_t i = begin; i < end; ++i) part[at[i]] += grad_y[i];
 *   });
 *
 * The indices [0, n) are cut into pieces of at least `grain`, at most 32. Each piece adds to parts of its own, views as those
 * that were given but with elements of acc<T>, which begin with zeros. The parts are then added in the pieces' order, and the
 * sum is written to the view, rounded once: whatever it held is overwritten. parallel_add adds it to what the view holds. A
 * view that tests false (a gradient that isn't wanted) has parts that test false.
 *
 * How the indices are cut depends on n, grain and the views' sizes alone, not on the threads: give a grain that doesn't, either.
 * The parts take the memory of a piece's views times the pieces, at most 64 MiB: with larger views there are fewer pieces, and
 * with a single one the loop isn't parallel, and takes no memory where acc<T> is T. If the result is so large, let each
 * thread have columns of it instead, and go through all indices: that has no races either.
 */
#ifndef OPWRIGHT_ACCUMULATE_H
#define OPWRIGHT_ACCUMULATE_H

#include "../elements/half.h"
#include "parallel.h"
#include "../tensors/tensor.h"
#include "workspace.h"

namespace opwright {
namespace detail {

constexpr int64_t most_pieces = 32, most_bytes_of_parts = int64_t(64) << 20;

template <class T, class U> struct same_type { static constexpr bool value = false; };
template <class T> struct same_type<T, T> { static constexpr bool value = true; };

template <class T, int N>
Tensor<acc<T>, N> part_of(const Tensor<T, N> &view, acc<T> *data) {
  return Tensor<acc<T>, N>(data, view.sizes(), view.needed());
}
template <class T>
Tensor<acc<T>, any_rank> part_of(const Tensor<T, any_rank> &view, acc<T> *data) {
  return Tensor<acc<T>, any_rank>(data, view.sizes(), view.ndim(), view.numel(), view.needed());
}

/* The views of an Accumulate; what one function does for all of them. */
template <class... Views>
struct Held {
  static constexpr bool plain = true; /* whether acc<T> is T in all of them */
  int64_t bytes() const { return 0; }
  void clear() const {}
  void gather(char *, int64_t, int64_t, bool) const {}
  template <class F, class... Parts>
  void direct(const F &body, int64_t n, Parts... parts) const {
    body(int64_t(0), n, parts...);
  }
  template <class F, class... Parts>
  void enter(const F &body, int64_t begin, int64_t end, char *, Parts... parts) const {
    body(begin, end, parts...);
  }
};

template <class T, int N, class... Rest>
struct Held<Tensor<T, N>, Rest...> {
  using A = acc<T>;
  static_assert(sizeof(T *) && !same_type<T, const T>::value, "an input can't be added to: its elements are const");
  static constexpr bool plain = same_type<T, A>::value && Held<Rest...>::plain;
  Tensor<T, N> view;
  Held<Rest...> rest;

  int64_t own() const { return (view.numel() * int64_t(sizeof(A)) + 63) / 64 * 64; } /* no two on a line of the cache */
  int64_t bytes() const { return own() + rest.bytes(); }
  void clear() const {
    for (int64_t i = 0; i < view.numel(); ++i) view.flat(i) = T(0);
    rest.clear();
  }
  template <class F, class... Parts>
  void direct(const F &body, int64_t n, Parts... parts) const {
    if constexpr (plain) rest.direct(body, n, parts..., view);
    (void)body, (void)n;
  }
  template <class F, class... Parts>
  void enter(const F &body, int64_t begin, int64_t end, char *at, Parts... parts) const {
    A *const data = view ? reinterpret_cast<A *>(at) : nullptr;
    for (int64_t i = 0; i < view.numel(); ++i) data[i] = A(0);
    rest.enter(body, begin, end, at + own(), parts..., part_of(view, data));
  }
  /* Adds the parts, which are `stride` bytes apart, in their order. */
  void gather(char *at, int64_t stride, int64_t pieces, bool add) const {
    const auto each = [&](int64_t begin, int64_t end) {
      A *const sum = reinterpret_cast<A *>(at);
      for (int64_t piece = 1; piece < pieces; ++piece) {
        const A *const part = reinterpret_cast<const A *>(at + piece * stride);
        for (int64_t i = begin; i < end; ++i) sum[i] += part[i];
      }
      for (int64_t i = begin; i < end; ++i) view.flat(i) = T(add ? A(A(view.flat(i)) + sum[i]) : sum[i]);
    };
    parallel_for(view.numel(), default_grain / pieces, each);
    rest.gather(at + own(), stride, pieces, add);
  }
};

inline Held<> hold() { return {}; }
template <class T, int N, class... Rest>
Held<Tensor<T, N>, Rest...> hold(const Tensor<T, N> &view, const Rest &...rest) {
  return {view, hold(rest...)};
}

}  // namespace detail

template <class... Views>
class Accumulate {
 public:
  explicit Accumulate(const Views &...views) : views_(detail::hold(views...)) {}

  /* Writes the sums. */
  template <class F>
  void parallel_for(int64_t n, int64_t grain, const F &body) const {
    run(n, grain, body, false);
  }
  template <class F>
  void parallel_for(int64_t n, const F &body) const {
    run(n, default_grain, body, false);
  }
  /* Adds the sums to what the views hold. */
  template <class F>
  void parallel_add(int64_t n, int64_t grain, const F &body) const {
    run(n, grain, body, true);
  }
  template <class F>
  void parallel_add(int64_t n, const F &body) const {
    run(n, default_grain, body, true);
  }

 private:
  static int64_t cut(int64_t n, int64_t piece, int64_t pieces) {
    return n / pieces * piece + n % pieces * piece / pieces;
  }
  template <class F>
  void run(int64_t n, int64_t grain, const F &body, bool add) const {
    const int64_t bytes = views_.bytes(), wanted = n / (grain > 0 ? grain : 1);
    int64_t pieces = wanted < detail::most_pieces ? wanted : detail::most_pieces;
    if (bytes * pieces > detail::most_bytes_of_parts) pieces = detail::most_bytes_of_parts / bytes;
    if (pieces < 1) pieces = 1;
    if constexpr (detail::Held<Views...>::plain) {
      if (pieces == 1) {
        if (!add) views_.clear();
        return views_.direct(body, n > 0 ? n : 0);
      }
    }
    Workspace<char> parts(bytes * pieces);
    opwright::parallel_for(pieces, 1, [&](int64_t piece) {
      views_.enter(body, cut(n, piece, pieces), cut(n, piece + 1, pieces), parts.data() + piece * bytes);
    });
    views_.gather(parts.data(), bytes, pieces, add);
  }
  detail::Held<Views...> views_;
};
template <class... Views>
Accumulate(const Views &...) -> Accumulate<Views...>;

}  // namespace opwright
#endif
