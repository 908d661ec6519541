/* The gradients of a kernel over views, from its own text: it runs on numbers that note what they are made of (tape.h), for
 * generated code.
 *
 * A body is a class with `run<T>(call)`, which calls the author's function with T in the place of its type variables, and
 * `shapes(call, sizes)`, the sizes of results that no tensor of the derivative's call tells. The unit that is taped, swept and
 * forgotten is a row of a `batched` operator, a slice along independent axes (taped_slices.h), or several of them in lanes;
 * otherwise it is the whole call.
 */
#ifndef OPWRIGHT_TAPED_H
#define OPWRIGHT_TAPED_H

#include "../library/batched.h"
#include "../library/by_name.h"
#include "../elements/element_size.h"
#include "dual_atomic.h"
#include "dual_dot.h"
#include "dual_gemm.h"
#include "lane_rows.h"
#include "../library/library.h"
#include "tape.h"
#include "taped_memory.h"
#include "traced.h"
#ifdef OPWRIGHT_EMULATION
#include "emulated.h"
#endif

namespace opwright {
namespace detail {

/* Where a number of lanes has its rows: one, or as many as it is wide. */
template <class S> struct width_of { static constexpr int value = 1; };
template <class R, int W> struct width_of<Lanes<R, W>> { static constexpr int value = W; };

/* The part of a number that is its value, or its tangent. */
template <bool tangent, class R> OPWRIGHT_INLINE R &part(R &number) { return number; }
template <bool tangent, class R> OPWRIGHT_INLINE R &part(Dual<R, 1> &number) {
  if constexpr (tangent) return number.partial[0];
  else return number.value;
}

template <class T> struct is_taped { static constexpr bool value = false; };
template <class S> struct is_taped<Dual<S, taped>> { static constexpr bool value = true; };
/* The number below the tape; a Dual<R, 1>, which needs none, is its own. */
template <class T> struct below { using type = T; };
template <class S> struct below<Dual<S, taped>> { using type = S; };

/* While it lives this thread notes on the tape. */
struct Taping {
  explicit Taping(void *tape) { current_tape = tape; }
  ~Taping() { current_tape = nullptr; }
#ifdef OPWRIGHT_EMULATION
  emulation::InOrder in_order;
#endif
};

/* Runs one function at one place of the leading axes after the other; T: the number that it runs on. */
template <class T, class R, class Body>
class Runner {
 public:
  using S = typename below<T>::type;
  static constexpr int lanes = width_of<S>::value;

  explicit Runner(const opw_call *call, const Function &function) : call_(call), f_(function) {}

  /* `rows`: for each of `lanes` rows the derivative's tensors at its place. False: they disagree, and nothing is written. */
  bool run(opw_tensor (*rows)[most_traced]) {
    if constexpr (lanes > 1) disagreed = false;
    prepare(rows);
    if constexpr (is_taped<T>::value) {
      tape_.clear(variables_ + 1);
      {
        const Taping taping(&tape_);
        Body::template run<T>(&inner_);
      }
      if constexpr (lanes > 1)
        if (disagreed) return false;
      tape_.check_threads();
      seed(rows);
      tape_.sweep();
      gradients(rows);
    } else {
      Body::template run<T>(&inner_);
    }
    tangents(rows);
    return true;
  }

  /* Of inputs whose bits are set in `summed` all that is run gets the same, and their gradients aren't written, but summed. Of
   * those in `staying` it gets the same memory, with their directions: what isn't read of them isn't copied if they are large. */
  void share(uint64_t summed, uint64_t staying) { summed_ = summed, staying_ = staying; }
  /* Calls add(tensor of the derivative's call, element, number) for these sums, which begin anew. */
  template <class F>
  void give_sums(const F &add) {
    if constexpr (is_taped<T>::value) {
      for (int i = 0; i < f_.count && adjoints_; ++i) {
        if (!is_summed(i) || !tensors_[i].present || !first_[i]) continue;
        const auto add_some = [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k) {
            const S &sum = adjoints_[first_[i] + k];
            if constexpr (lanes > 1) {
              R all = 0;
              for (int lane = 0; lane < lanes; ++lane) all += sum.v[lane];
              add(f_.tensors[i].gradient, k, all);
            } else {
              S copied = sum;
              if (f_.tensors[i].gradient >= 0) add(f_.tensors[i].gradient, k, part<false>(copied));
              if (f_.tensors[i].second >= 0) add(f_.tensors[i].second, k, part<true>(copied));
            }
          }
        };
        if (is_sparse(i)) sparse_[i].each_turned(add_some);
        else add_some(0, tensors_[i].numel);
      }
      tape_.forget(), adjoints_ = nullptr;
    }
  }

 private:
  bool is_summed(int i) const { return summed_ >> i & 1; }
  bool stays(int i) const { return staying_ >> i & 1; }
  /* Whether only what is read of an input becomes numbers; known once its memory is. */
  bool is_sparse(int i) const {
    const opw_tensor &of = tensors_[i];
    return is_taped<T>::value && stays(i) && f_.tensors[i].active && !f_.tensors[i].mutated && of.present &&
           of.numel * int64_t(sizeof(T)) >= OPWRIGHT_SPARSE_FROM;
  }
  T *numbers(int i) { return static_cast<T *>(memory_[i].data()); }

  /* The function's own call: its tensors made of numbers that are traced, the others as they are. */
  void prepare(opw_tensor (*rows)[most_traced]) {
    inner_ = *call_, inner_.tensors = tensors_, inner_.axes = axes_;
    inner_.resize = &Runner::resize, inner_.resize_context = this, resized_ = 0;
    if (f_.rng >= 0) inner_.rng = &(rng_ = state_of(rows[0][f_.rng]));
    Body::axes(call_, axes_);
    variables_ = 0, tape_.input_count = 0, tape_.sparse_count = 0;
    for (int i = 0; i < f_.count; ++i)
      if (!f_.tensors[i].result) tensors_[i] = rows[0][int(f_.tensors[i].value)];
    each_input([&](int i) { return is_sparse(i); }, rows);
    tape_.sparse_variables = variables_, tape_.sparse_count = tape_.input_count;
    each_input([&](int i) { return !is_sparse(i) && is_summed(i); }, rows);
    summed_variables_ = variables_;
    each_input([&](int i) { return !is_sparse(i) && !is_summed(i); }, rows);
    Body::shapes(&inner_, shapes_);
    for (int i = 0; i < f_.count; ++i)
      if (f_.tensors[i].result) result(i, rows);
  }
  template <class F>
  void each_input(const F &is_one, opw_tensor (*rows)[most_traced]) {
    for (int i = 0; i < f_.count; ++i)
      if (!f_.tensors[i].result && is_one(i)) input(i, rows);
  }
  void input(int i, opw_tensor (*rows)[most_traced]) {
    const Traced &t = f_.tensors[i];
    const opw_tensor &of = rows[0][int(t.value)];
    if (!of.present) return;
    if (!t.active) {
      for (int lane = 1; lane < lanes; ++lane) {
        const void *const other = rows[lane][int(t.value)].data;
        if (other != of.data && __builtin_memcmp(other, of.data, size_t(of.numel * bytes_of(of.dtype))))
          disagreed = true;
      }
      if (t.mutated) {
        const size_t bytes = size_t(of.numel * bytes_of(of.dtype));
        tensors_[i].data = memory_[i].template room<char>(int64_t(bytes));
        if (bytes) __builtin_memcpy(tensors_[i].data, of.data, bytes);
      }
      return;
    }
    if (of.numel >= int64_t(0xfffffff0) - variables_) refuse("a call with so many elements has no tape");
    const bool variable = is_taped<T>::value && (is_wanted(rows, t.gradient) || is_wanted(rows, t.second));
    const uint32_t first = variable ? variables_ + 1 : 0;
    if (variable) variables_ += uint32_t(of.numel);
    const bool directed = t.direction >= 0 && rows[0][int(t.direction)].present;
    if constexpr (is_taped<T>::value)
      if (is_sparse(i)) {
        T *const x = sparse_[i].numbers_of(of, directed ? &rows[0][int(t.direction)] : nullptr, first);
        tensors_[i].data = x, first_[i] = first;
        return know_input(x, of, true, &sparse_[i]);
      }
    T *const x = memory_[i].template room<T>(of.numel);
    tensors_[i].data = x;
    const bool kept = first_[i] == first && source_[i] == of.data && is_shared(rows, t.value) &&
                      (!directed || stays(i)) && !t.mutated;
    first_[i] = first, source_[i] = of.data;
    if constexpr (is_taped<T>::value)
      if (!t.mutated) know_input(x, of, is_shared(rows, t.value), nullptr);
    if (kept) return;
    if constexpr (is_dual<S>::value)
      for (int64_t k = 0; k < of.numel; ++k) at(x[k]) = S(0);
    load<false>(rows, t.value, of.numel, [&](int64_t k) -> S & { return at(x[k]); });
    if (directed) load<true>(rows, t.direction, of.numel, [&](int64_t k) -> S & { return at(x[k]); });
    if constexpr (is_taped<T>::value)
      for (int64_t k = 0; k < of.numel; ++k) x[k].index = variable ? uint32_t(first + k) : 0;
  }
  /* Tells the tape of numbers that stay as they are, and where the plain ones lie. */
  void know_input(const T *x, const opw_tensor &of, bool shared, SparseInput<S> *sparse) {
    const bool plain = shared && of.dtype == code_of<R>::value && !is_dual<S>::value;
    const char *const begin = reinterpret_cast<const char *>(x);
    tape_.inputs[tape_.input_count++] = {begin, begin + of.numel * int64_t(sizeof(T)), plain ? of.data : nullptr,
                                         sparse};
  }
  void result(int i, opw_tensor (*rows)[most_traced]) {
    const Traced &t = f_.tensors[i];
    opw_tensor &of = tensors_[i];
    if (t.shape < 0) {
      of = rows[0][int(t.seed >= 0 ? t.seed : t.tangent)];
      of.present = 1;
    } else {
      of = opw_tensor{};
      Shape &shape = shapes_[int(t.shape)];
      of.sizes = shape.sizes, of.strides = shape.strides, of.ndim = shape.ndim, of.present = shape.present;
      bool known = of.present;
      for (int d = 0; d < shape.ndim; ++d) known &= shape.sizes[d] >= 0;
      if (!known) return void(of.dtype = t.dtype);
      measure(of, shape);
    }
    of.dtype = t.dtype;
    give_memory(i);
  }
  static void measure(opw_tensor &of, Shape &shape) {
    of.numel = 1;
    for (int d = shape.ndim - 1; d >= 0; --d) shape.strides[d] = of.numel, of.numel *= shape.sizes[d];
  }
  void give_memory(int i) {
    opw_tensor &of = tensors_[i];
    if (f_.tensors[i].active) {
      T *const y = memory_[i].template room<T>(of.numel);
      for (int64_t k = 0; k < of.numel; ++k) y[k] = T(0);
      of.data = y;
    } else {
      of.data = memory_[i].template room<char>(of.numel * bytes_of(of.dtype));
      __builtin_memset(of.data, 0, size_t(of.numel * bytes_of(of.dtype)));
    }
  }
  /* What `opw_call` says of it. */
  static int32_t resize(void *context, int32_t index, const int64_t *lengths) {
    Runner &self = *static_cast<Runner *>(context);
    opw_tensor &of = self.tensors_[index];
    const int place = self.f_.tensors[index].shape;
    if (!lengths || place < 0 || !of.present) return 0;
    Shape &shape = self.shapes_[place];
    const uint64_t bit = uint64_t(1) << index;
    for (int d = 0, next = 0; d < shape.ndim; ++d) {
      if (!(shape.decided >> d & 1)) continue;
      const int64_t length = lengths[next++], before = shape.sizes[d];
      if ((self.resized_ & bit) && length != before) return 2;
      if (length < 0 || (before >= 0 && length > before)) return 1;
      shape.sizes[d] = length;
    }
    if (self.resized_ & bit) return 0;
    self.resized_ |= bit;
    measure(of, shape);
    if (!of.data) self.give_memory(index);
    return 0;
  }
  static opw_rng state_of(const opw_tensor &kept) {
    const int64_t *const state = static_cast<const int64_t *>(kept.data);
    return {uint64_t(state[0]), uint64_t(state[1]), nullptr, nullptr};
  }
  void seed(opw_tensor (*rows)[most_traced]) {
    S *const adjoints = tape_.adjoints(summed_variables_);
    for (int i = 0; i < f_.count; ++i) {
      const Traced &t = f_.tensors[i];
      if (!t.active || t.seed < 0 || !tensors_[i].present) continue;
      const T *const y = numbers(i);
      const int64_t n = tensors_[i].numel;
      if (rows[0][int(t.seed)].present && rows[0][int(t.seed)].numel != n)
        refuse("run again for its gradient, the kernel decides other lengths: ", n, " elements, before ",
               rows[0][int(t.seed)].numel,
               "\n  likely fix: lengths that depend on the arguments alone, not on what is kept between calls");
      S *const seeds = seeds_.template room<S>(n);
      if (is_dual<S>::value || !rows[0][int(t.seed)].present)
        for (int64_t k = 0; k < n; ++k) seeds[k] = S(0);
      const auto seed = [&](int64_t k) -> S & { return seeds[k]; };
      if (rows[0][int(t.seed)].present) load<false>(rows, t.seed, n, seed);
      if (t.seed_direction >= 0 && rows[0][int(t.seed_direction)].present) load<true>(rows, t.seed_direction, n, seed);
      for (int64_t k = 0; k < n; ++k) {
        tape_.check(y[k].index);
        adjoints[y[k].index] = adjoints[y[k].index] + seeds[k];
      }
    }
    adjoints_ = adjoints;
  }
  void gradients(opw_tensor (*rows)[most_traced]) {
    for (int i = 0; i < f_.count; ++i) {
      const Traced &t = f_.tensors[i];
      if (t.result || !t.active || !tensors_[i].present || is_summed(i)) continue;
      S *const adjoints = adjoints_ + first_[i];
      const auto adjoint = [&](int64_t k) -> S & { return adjoints[k]; };
      if (is_wanted(rows, t.gradient)) store<false>(rows, t.gradient, adjoint);
      if (is_wanted(rows, t.second)) store<true>(rows, t.second, adjoint);
    }
  }
  void tangents(opw_tensor (*rows)[most_traced]) {
    for (int i = 0; i < f_.count; ++i) {
      const Traced &t = f_.tensors[i];
      if (!t.active || t.tangent < 0 || !tensors_[i].present || !is_wanted(rows, t.tangent)) continue;
      T *const y = numbers(i);
      store<true>(rows, t.tangent, [&](int64_t k) -> S & { return at(y[k]); });
    }
  }
  static bool is_shared(opw_tensor (*rows)[most_traced], int place) {
    for (int lane = 1; lane < lanes; ++lane)
      if (rows[lane][place].data != rows[0][place].data) return false;
    return true;
  }
  /* Reads the n elements of a tensor in all rows into the value, or the tangent, of number(k). */
  template <bool tangent, class F>
  void load(opw_tensor (*rows)[most_traced], int place, int64_t n, const F &number) {
    const R *const first = plain_.template read<R>(rows[0][place], 0, lanes);
    if constexpr (lanes == 1) {
      for (int64_t k = 0; k < n; ++k) part<tangent>(number(k)) = first[k];
    } else if (is_shared(rows, place)) {
      for (int64_t k = 0; k < n; ++k) number(k) = S(first[k]);
    } else {
      const R *values[lanes] = {first};
      for (int lane = 1; lane < lanes; ++lane) values[lane] = plain_.template read<R>(rows[lane][place], lane, lanes);
      gather<R, lanes>(values, n, [&](int64_t k, const auto &v) { number(k).v = v; });
    }
  }
  /* Writes the value, or the tangent, of number(k) to a tensor in all rows. */
  template <bool tangent, class F>
  void store(opw_tensor (*rows)[most_traced], int place, const F &number) {
    const int64_t n = rows[0][place].numel;
    R *values[lanes];
    for (int lane = 0; lane < lanes; ++lane) values[lane] = plain_.template target<R>(rows[lane][place], lane, lanes);
    if constexpr (lanes == 1)
      for (int64_t k = 0; k < n; ++k) values[0][k] = part<tangent>(number(k));
    else scatter<R, lanes>(values, n, [&](int64_t k) { return number(k).v; });
    for (int lane = 0; lane < lanes; ++lane) plain_.template written<R>(rows[lane][place], values[lane]);
  }
  static bool is_wanted(opw_tensor (*rows)[most_traced], int place) { return place >= 0 && rows[0][place].present; }
  static S &at(T &number) {
    if constexpr (is_taped<T>::value) return number.value;
    else return number;
  }

  const opw_call *call_;
  const Function &f_;
  opw_call inner_;
  opw_tensor tensors_[most_traced];
  int64_t axes_[most_axes_named];
  Shape shapes_[most_shapes];
  uint64_t summed_ = 0;  /* bit i: the gradient of input i is summed over all that is run */
  uint64_t staying_ = 0; /* bit i: input i lies where it lay before */
  uint32_t summed_variables_ = 0, variables_ = 0,
           first_[most_traced] = {}; /* of each tensor the index of its first element */
  Room memory_[most_traced], seeds_;
  Plain plain_;
  SparseInput<S> sparse_[most_traced];
  Tape<S> tape_;
  S *adjoints_ = nullptr;
  const void *source_[most_traced] = {};
  opw_rng rng_;
  uint64_t resized_ = 0; /* bit i: the kernel has decided the lengths of tensor i */
};

/* A call of an operator that isn't batched. */
template <class T, class R, class Body>
void derive(const opw_call *call, const Function &function, int count) {
  opw_tensor row[1][most_traced];
  for (int i = 0; i < count; ++i) row[0][i] = call->tensors[i];
  Lazy<Runner<T, R, Body>, Function> runner(call, function);
  runner->share(0, ~uint64_t(0));
  runner->run(row);
}

/* Runs several rows in lanes; whether they could. What is thrown there, where one row after the other may do, counts as none. */
template <class Several>
bool runs_in_lanes(Several &several, opw_tensor (*rows)[most_traced]) {
  try {
    return several->run(rows);
  } catch (const Failure &) {
    return false;
  }
}

/* How many rows go side by side: those that fill 64 bytes, of which no number takes a part from another. */
#ifdef OPWRIGHT_EMULATION /* a CUDA kernel branches more than it computes */
template <class R> constexpr int lane_count = 1;
#else
template <class R> constexpr int lane_count = int(64 / sizeof(R));
#endif
constexpr int most_disagreements = 2;

/* A call of a `batched` operator; `ranks`: of the cores of the derivative's tensors. In lanes if T is `taped` of plain numbers. */
template <class T, class R, class Body>
void derive_batched(const opw_call *call, const Function &function, const unsigned char *ranks, int count) {
  using L = Dual<Lanes<R, lane_count<R>>, taped>;
  constexpr int width = same_number<T, Dual<R, taped>>::value ? lane_count<R> : 1;
  Batched loop{call, ranks, count};
  loop.look();
  const int64_t groups = (loop.places + width - 1) / width, cost = 64 * loop.largest * width;
  parallel_for(groups, default_grain / (cost > 0 ? cost : 1), [&](int64_t begin, int64_t end) {
    opw_tensor rows[width][most_traced];
    Lazy<Runner<T, R, Body>, Function> single(call, function);
    Lazy<Runner<L, R, Body>, Function> several(call, function);
    int disagreements = 0;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * width, left = loop.places - first, n = left < width ? left : width;
      for (int64_t i = 0; i < n; ++i) loop.at(first + i, rows[i]);
      if constexpr (width > 1)
        if (n == width && disagreements < most_disagreements) {
          if (runs_in_lanes(several, rows)) continue;
          ++disagreements;
        }
      for (int64_t i = 0; i < n; ++i) single->run(rows + i);
    }
  });
}

}  // namespace detail
}  // namespace opwright
#endif
