/* Slices along independent axes: the unit that is taped is a slice, and what slices share gets the sum of their gradients. */
#ifndef OPWRIGHT_TAPED_SLICES_H
#define OPWRIGHT_TAPED_SLICES_H

#include "../services/accumulate.h"
#include "taped.h"

namespace opwright {
namespace detail {

constexpr int most_independent = 8, most_dims = 64;

/* A tensor of the derivative's call, as one slice has it: its independent axes have one element. */
struct Sliced {
  int64_t sizes[most_dims], strides[most_dims]; /* of the slice, dense */
  int64_t steps[most_independent];              /* from one slice to the next along each axis; 0: it lacks the axis */
  int64_t numel = 1;
  bool dense = true;    /* whether the slice is dense where it lies */
  bool sums = false;    /* a result that lacks an axis */
  bool whole = true;    /* it lacks all */
  bool in_tape = false; /* the sum stays in the runners' tapes until `give_sums`: of gradients, not of tangents */
  Room offsets;         /* of the slice's elements, where it isn't */
};

/* The slices of a call. */
class Slices {
 public:
  /* `places`: for each tensor and each axis which axis it is, counted from the last, which is 1; 0: the tensor lacks it.
   * `inputs`: how many of the tensors are inputs. */
  Slices(const opw_call *call, const unsigned char *places, int axes, int count, int inputs)
      : call_(call), places_(places), axes_(axes), count_(count) {
    for (int a = 0; a < axes; ++a) sizes_[a] = size_of(a), slices *= sizes_[a];
    for (int i = 0; i < count; ++i)
      if (call->tensors[i].present) look(i, i >= inputs);
  }

  int64_t slices = 1, largest = 1;
  Sliced &operator[](int i) { return of_[i]; }
  int count() const { return count_; }
  const opw_tensor &whole(int i) const { return call_->tensors[i]; }

  /* The first element of tensor i in a slice. */
  int64_t offset(int i, int64_t slice) const {
    int64_t at = 0;
    for (int a = axes_ - 1; a >= 0; --a) at += slice % sizes_[a] * of_[i].steps[a], slice /= sizes_[a];
    return at;
  }

 private:
  int64_t size_of(int axis) const {
    for (int i = 0; i < count_; ++i) {
      const opw_tensor &t = call_->tensors[i];
      if (const int place = places_[i * axes_ + axis]; t.present && place) return t.sizes[t.ndim - place];
    }
    return 1;
  }
  void look(int i, bool result) {
    const opw_tensor &t = call_->tensors[i];
    Sliced &of = of_[i];
    for (int d = 0; d < t.ndim; ++d) of.sizes[d] = t.sizes[d];
    for (int a = 0; a < axes_; ++a) {
      const int place = places_[i * axes_ + a];
      of.steps[a] = place ? t.strides[t.ndim - place] : 0;
      if (place) of.sizes[t.ndim - place] = 1;
      else of.sums = result;
      of.whole = of.whole && !place;
    }
    for (int d = t.ndim - 1; d >= 0; --d) {
      of.strides[d] = of.numel;
      of.dense = of.dense && (of.sizes[d] == 1 || t.strides[d] == of.numel);
      of.numel *= of.sizes[d];
    }
    largest = of.numel > largest ? of.numel : largest;
    if (of.dense) return;
    int64_t *const offsets = of.offsets.room<int64_t>(of.numel);
    for (int64_t k = 0; k < of.numel; ++k) {
      int64_t rest = k, at = 0;
      for (int d = t.ndim - 1; d >= 0; --d) at += rest % of.sizes[d] * t.strides[d], rest /= of.sizes[d];
      offsets[k] = at;
    }
  }

  const opw_call *call_;
  const unsigned char *places_;
  int axes_, count_;
  int64_t sizes_[most_independent];
  Sliced of_[most_traced];
};

/* The elements of a slice that isn't dense, to dense memory and back. */
inline void move_slice(char *dense, char *lying, const Sliced &of, size_t bytes, bool back) {
  const int64_t *const offsets = static_cast<const int64_t *>(of.offsets.data());
  for (int64_t k = 0; k < of.numel; ++k) {
    char *const there = lying + offsets[k] * int64_t(bytes), *const here = dense + k * int64_t(bytes);
    __builtin_memcpy(back ? there : here, back ? here : there, bytes);
  }
}

/* One piece of the slices after the other, which are computed in their order: its sums don't depend on threads. */
template <class R>
class Piece {
 public:
  Piece(Slices &slices, int lanes) : slices_(slices), lanes_(lanes) {}
  /* The next piece; `sums`: where its sums are to be added to. */
  void begin(R **sums) { sums_ = sums; }

  /* The tensors of a slice, for a runner; results that are sums, and those that aren't dense, to memory of their own. */
  void take(int64_t slice, int lane, int inputs, opw_tensor *tensors) {
    for (int i = 0; i < slices_.count(); ++i) {
      opw_tensor t = slices_.whole(i);
      if (t.present) {
        Sliced &of = slices_[i];
        const size_t bytes = size_t(bytes_of(t.dtype));
        char *const lying = t.data ? static_cast<char *>(t.data) + slices_.offset(i, slice) * int64_t(bytes) : nullptr;
        t.sizes = of.sizes, t.strides = of.strides, t.numel = of.numel, t.data = lying;
        if (of.in_tape) t.data = nullptr;
        else if (i >= inputs && of.sums) t.data = memory(i, lane, sizeof(R)), t.dtype = code_of<R>::value;
        else if (!of.dense) {
          t.data = memory(i, lane, bytes);
          if (i < inputs) move_slice(static_cast<char *>(t.data), lying, of, bytes, false);
        }
      }
      tensors[i] = t;
    }
  }
  /* What a runner has written to memory of its own, to its place. */
  void put(int64_t slice, int inputs, const opw_tensor *tensors) {
    for (int i = inputs; i < slices_.count(); ++i) {
      const opw_tensor &t = slices_.whole(i);
      Sliced &of = slices_[i];
      if (!t.present || of.in_tape || (!of.sums && of.dense)) continue;
      const int64_t offset = slices_.offset(i, slice);
      if (of.sums) {
        const R *const from = static_cast<const R *>(tensors[i].data);
        const int64_t *const offsets = static_cast<const int64_t *>(of.offsets.data());
        R *const to = sums_[i] + offset;
        if (of.dense)
          for (int64_t k = 0; k < of.numel; ++k) to[k] += from[k];
        else
          for (int64_t k = 0; k < of.numel; ++k) to[offsets[k]] += from[k];
      } else {
        const size_t bytes = size_t(bytes_of(t.dtype));
        move_slice(static_cast<char *>(tensors[i].data), static_cast<char *>(t.data) + offset * int64_t(bytes), of,
                   bytes, true);
      }
    }
  }
  /* After each group of slices: a runner knows an input that it has read before by where it lies. */
  void next() { second_ = !second_; }

 private:
  void *memory(int i, int lane, size_t bytes) {
    return rooms_[i].template room<char>(slices_[i].numel * int64_t(bytes) * 2 * lanes_) +
           slices_[i].numel * int64_t(bytes) * ((second_ ? lanes_ : 0) + lane);
  }

  Slices &slices_;
  R **sums_ = nullptr;
  int lanes_;
  bool second_ = false;
  Room rooms_[most_traced];
};

constexpr int64_t least_reserved = int64_t(32) << 20; /* bytes of sums; fewer an allocator has at hand */
constexpr int64_t pieces_per_trial = 8;               /* pieces of which one tries lanes before the others do */
constexpr int few_groups = 32; /* of a piece: one of them that disagrees is enough to stop trying */

/* A call of an operator with independent axes.
 *
 * `places`: see Slices; `named`: for each axis its place among the axes of the call, of which there are `names`; `inputs`: how
 * many of the call's tensors are inputs. In lanes if T is `taped` of plain numbers. */
template <class T, class R, class Body>
void derive_slices(const opw_call *call, const Function &function, const unsigned char *places,
                   const unsigned char *named, int axes, int names, int inputs, int count) {
  using L = Dual<Lanes<R, lane_count<R>>, taped>;
  constexpr int width = same_number<T, Dual<R, taped>>::value ? lane_count<R> : 1;
  Slices slices(call, places, axes, count, inputs);
  int64_t sizes[most_axes_named];
  for (int a = 0; a < names; ++a) sizes[a] = call->axes[a];
  for (int a = 0; a < axes; ++a) sizes[named[a]] = 1;
  opw_call each = *call;
  each.axes = sizes;

  int64_t summed = 0;
  for (int i = inputs; i < count; ++i)
    if (slices.whole(i).present && slices[i].sums) summed += slices.whole(i).numel;
  const int64_t groups = (slices.slices + width - 1) / width;
  int64_t pieces = groups < most_pieces ? groups : most_pieces;
  const int64_t room = most_bytes_of_parts / (summed * int64_t(sizeof(R)) + 1);
  pieces = pieces > room ? room : pieces;
  if (pieces < 1) pieces = 1;
  Room little;
  Reserved large;
  const bool is_large = summed * pieces * int64_t(sizeof(R)) >= least_reserved;
  R *const sums = is_large ? large.template zeros<R>(summed * pieces) : little.template room<R>(summed * pieces);
  for (int64_t k = 0; !is_large && k < summed * pieces; ++k) sums[k] = R(0);
  /* Those of one piece are where they are to be, if they can. */
  const auto is_in_place = [&](int place) { return pieces == 1 && slices.whole(place).dtype == code_of<R>::value; };
  for (int i = inputs; i < count; ++i)
    if (const opw_tensor &t = slices.whole(i); t.present && t.numel && slices[i].sums && is_in_place(i))
      __builtin_memset(t.data, 0, size_t(t.numel) * sizeof(R));

  uint64_t shared = 0, staying = 0;
  for (int i = 0; i < function.count; ++i) {
    const Traced &t = function.tensors[i];
    if (t.result) continue;
    const auto stays = [&](int place) {
      return place < 0 || !slices.whole(place).present || (slices[place].whole && slices[place].dense);
    };
    if (stays(t.value) && stays(t.direction)) staying |= uint64_t(1) << i;
    const int places_of_sums[] = {t.gradient, t.second};
    for (const int place : places_of_sums)
      if (place >= inputs && slices[place].sums && slices[place].whole)
        slices[place].in_tape = true, shared |= uint64_t(1) << i;
  }

  /* What runs the slices of several pieces, on one thread. */
  struct Running {
    Running(const opw_call *each, const Function &function, Slices &slices)
        : piece(slices, width), single(each, function), several(each, function) {}
    opw_tensor rows[width][most_traced];
    Piece<R> piece;
    Lazy<Runner<T, R, Body>, Function> single;
    Lazy<Runner<L, R, Body>, Function> several;
  };
  /* The groups from `begin` to `end` of a piece; returns how many disagreed. Lanes are tried until `most` have. */
  const auto run = [&](Running &running, int64_t piece, int64_t begin, int64_t end, int most) {
    R *own[most_traced], *next = sums + piece * summed;
    for (int i = inputs; i < count; ++i)
      if (const opw_tensor &t = slices.whole(i); t.present && slices[i].sums)
        own[i] = is_in_place(i) ? static_cast<R *>(t.data) : next, next += t.numel;
    auto &[rows, memory_of_piece, single, several] = running;
    memory_of_piece.begin(own);
    int disagreements = 0;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * width, left = slices.slices - first, n = left < width ? left : width;
      memory_of_piece.next();
      for (int lane = 0; lane < n; ++lane) memory_of_piece.take(first + lane, lane, inputs, rows[lane]);
      bool done = false;
      if constexpr (width > 1)
        if (n == width && disagreements < most) {
          several->share(shared, staying);
          done = runs_in_lanes(several, rows);
          disagreements += !done;
        }
      for (int lane = 0; lane < n; ++lane) {
        if (!done) single->share(shared, staying), single->run(rows + lane);
        memory_of_piece.put(first + lane, inputs, rows[lane]);
      }
    }
    const auto add = [&](int place, int64_t k, R number) {
      if (slices[place].in_tape) own[place][k] += number;
    };
    if constexpr (width > 1)
      if (several) several->give_sums(add);
    if (single) single->give_sums(add);
    return disagreements;
  };
  const bool small = slices.slices * slices.largest * 64 < default_grain;
  struct Owned {
    Running *running = nullptr;
    ~Owned() { delete running; }
  } of_first; /* kept after the trial, with its copies of what slices share */
  const auto in_parallel = [&](int64_t n, const auto &body) {
    parallel_for(n, small ? n : 1, [&](int64_t begin, int64_t end) {
      Owned of_others, &owned = begin ? of_others : of_first;
      if (!owned.running) owned.running = new Running(&each, function, slices);
      for (int64_t i = begin; i < end; ++i) body(*owned.running, i);
    });
  };
  const auto first_of = [&](int64_t piece) { return groups * piece / pieces; };
  /* The first groups of some pieces decide whether the others try: which those are depends on sizes alone, so bits do. */
  const int64_t tried = width == 1 ? 0 : (pieces + pieces_per_trial - 1) / pieces_per_trial;
  bool disagree[most_pieces];
  in_parallel(tried, [&](Running &running, int64_t piece) {
    disagree[piece] = run(running, piece, first_of(piece), first_of(piece) + 1, 1) > 0;
  });
  int64_t in_vain = 0;
  for (int64_t piece = 0; piece < tried; ++piece) in_vain += disagree[piece];
  const int most = 2 * in_vain > tried ? 0 : groups < pieces * few_groups ? 1 : most_disagreements;
  in_parallel(pieces, [&](Running &running, int64_t piece) {
    run(running, piece, first_of(piece) + (piece < tried), first_of(piece + 1), most);
  });

  int64_t before = 0;
  for (int i = inputs; i < count; ++i) {
    if (!slices.whole(i).present || !slices[i].sums) continue;
    opw_tensor t = slices.whole(i);
    const R *const first = sums + before;
    before += t.numel;
    if (is_in_place(i)) continue;
    Plain plain;
    R *const to = plain.template target<R>(t, 0, 1);
    for (int64_t k = 0; k < t.numel; ++k) {
      R sum = 0;
      for (int64_t piece = 0; piece < pieces; ++piece) sum += first[piece * summed + k];
      to[k] = sum;
    }
    plain.template written<R>(t, to);
  }
}

}  // namespace detail
}  // namespace opwright
#endif
