// Groups of axes: a kernel sees one axis for each, whose size is the product of theirs. signature/chosen/groups.py says the
// same in Python.
#include "errors.h"
#include "plan/plan.h"

namespace opw {
namespace {

int64_t plain(int64_t value) { return value; }
int64_t plain(const c10::SymInt &value) { return value.guard_int(__FILE__, __LINE__); }

int64_t size_at(const at::Tensor &t, int64_t d, const int64_t *) { return t.sizes()[d]; }
c10::SymInt size_at(const at::Tensor &t, int64_t d, const c10::SymInt *) { return t.sym_size(d); }

// Calls `dim(d, count)` for each axis of the plan, and `kept(count)` for each that a bool keeps, in their order; `count` is how
// many axes of the tensor it stands for. An unknown group counts as none.
template <class I, class OfDim, class OfKept>
void each_axis(const TensorPlan &p, const Bound<I> &bound, OfDim dim, OfKept kept) {
  const bool lacks = p.slot >= 0 && !bound.absent.empty() && bound.absent[p.slot];
  size_t next = 0;
  const auto keep = [&](size_t before) {
    for (; next < p.kept.size() && p.kept[next].before == static_cast<int64_t>(before); ++next)
      kept(lacks && p.slot_at < 0 ? 0 : plain(bound.axes[p.kept[next].flag]));
  };
  for (size_t d = 0; d < p.dims.size(); ++d) {
    keep(d);
    const int64_t group = p.dims[d].group;
    if (group >= 0) dim(d, std::max<int64_t>(bound.ranks[group], 0));
    else dim(d, lacks && p.slot_at == static_cast<int64_t>(d) ? 0 : 1);
  }
  keep(p.dims.size());
}

template <class I>
int64_t rank_of(const TensorPlan &p, const Bound<I> &bound) {
  int64_t rank = 0;
  each_axis(p, bound, [&](size_t, int64_t count) { rank += count; }, [&](int64_t count) { rank += count; });
  return rank;
}

// Whether its groups are those around the chosen axis, and no others.
bool surrounds(const Plan &plan, const TensorPlan &p) {
  int64_t found = 0;
  for (const auto &dim : p.dims) {
    if (dim.group < 0) continue;
    if (found > 1 || dim.group != (found ? plan.chosen.after : plan.chosen.before)) return false;
    ++found;
  }
  return found == 2;
}

// The groups around the chosen axis, by its number; false where there is no such axis.
template <class I>
bool bind_around(const Plan &plan, const at::Tensor *const *inputs, Bound<I> &bound) {
  const auto &[number, before, after] = plan.chosen;
  size_t i = 0;
  while (!inputs[i]->defined() || !plan.inputs[i].grouped || !surrounds(plan, plan.inputs[i]))
    if (++i == plan.inputs.size()) return false;
  const TensorPlan &p = plan.inputs[i];
  const int64_t others = rank_of(p, bound), rank = inputs[i]->dim();
  const bool lacks = rank == 0 && others == 1 && p.slot >= 0;
  const int64_t count = lacks ? 1 : rank - others + 1, chosen = plain(bound.axes[number]);
  if (count < 1 || chosen < -count || chosen >= count) return false;
  bound.ranks[before] = chosen < 0 ? chosen + count : chosen;
  bound.ranks[after] = count - 1 - bound.ranks[before];
  if (lacks) bound.absent[p.slot] = true;
  if (count > 1) return true;
  const int64_t told =
      others ? p.slot : -1;  // each says for itself what it lacks, but for an axis that the first one has
  for (size_t k = 0; k < plan.inputs.size(); ++k) {
    const TensorPlan &other = plan.inputs[k];
    if (other.slot < 0 || other.slot == told || !inputs[k]->defined() || inputs[k]->dim() != 0) continue;
    if (rank_of(other, bound)) bound.absent[other.slot] = true;
  }
  return true;
}

}  // namespace

template <class I>
bool bind_ranks(const Plan &plan, const at::Tensor *const *inputs, Bound<I> &bound) {
  bound.groups.resize(plan.groups);
  bound.ranks.assign(plan.groups, -1);
  bound.absent.assign(plan.axes, false);
  if (plan.chosen.number >= 0 && !bind_around(plan, inputs, bound)) return false;
  for (bool solved = true; solved;) {
    solved = false;
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const TensorPlan &p = plan.inputs[i];
      int64_t unknown = 0, group = -1;
      for (const auto &dim : p.dims)
        if (dim.group >= 0 && bound.ranks[dim.group] < 0) ++unknown, group = dim.group;
      if (unknown != 1 || !inputs[i]->defined()) continue;
      const int64_t rank = inputs[i]->dim() - rank_of(p, bound);
      if (rank < 0) return false;
      bound.ranks[group] = rank;
      solved = true;
    }
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (plan.inputs[i].grouped && inputs[i]->defined() && rank_of(plan.inputs[i], bound) != inputs[i]->dim())
      return false;
  return true;
}

template <class I>
bool bind_groups(const TensorPlan &p, const at::Tensor &t, Bound<I> &bound, c10::SmallVectorImpl<I> &seen) {
  constexpr bool checked = std::is_same_v<I, int64_t>;
  int64_t at = 0;
  bool fits = true;
  const auto dim = [&](size_t d, int64_t count) {
    I product(1);
    c10::SmallVector<I, 6> own;
    for (int64_t k = 0; k < count; ++k) {
      own.push_back(size_at(t, at++, static_cast<const I *>(nullptr)));
      product = product * own.back();
    }
    seen.push_back(product);
    const Dim &written = p.dims[d];
    if (written.group < 0) return;
    const int64_t axis = written.axis;
    auto &group = bound.groups[written.group];
    if (!bound.known[axis] || group.size() != own.size()) {
      if constexpr (checked) fits &= !bound.known[axis] || bound.axes[axis] == product;
      bound.axes[axis] = product;
      bound.known[axis] = true;
      group = own;
    } else if constexpr (checked) {
      fits &= group == own && bound.axes[axis] == product;
    }
  };
  const auto kept = [&](int64_t count) {
    if constexpr (checked)
      if (count) fits &= t.sizes()[at] == 1;
    at += count;
  };
  each_axis(p, bound, dim, kept);
  return fits;
}

void spread(const TensorPlan &p, const Bound<int64_t> &bound, c10::IntArrayRef seen,
            c10::SmallVectorImpl<int64_t> &sizes) {
  sizes.clear();
  const auto dim = [&](size_t d, int64_t count) {
    const int64_t group = p.dims[d].group;
    if (group >= 0) sizes.append(bound.groups[group].begin(), bound.groups[group].end());
    else if (count) sizes.push_back(seen[d]);
  };
  each_axis(p, bound, dim, [&](int64_t count) { sizes.append(static_cast<size_t>(count), 1); });
}

int64_t place_of(const TensorPlan &p, const Bound<int64_t> &bound, size_t d) {
  int64_t at = 0, place = 0;
  const auto dim = [&](size_t each, int64_t count) {
    if (each == d) place = at;
    at += count;
  };
  each_axis(p, bound, dim, [&](int64_t count) { at += count; });
  return place;
}

bool fold(const TensorPlan &p, const Bound<int64_t> &bound, const at::Tensor &t, c10::SmallVectorImpl<int64_t> &seen) {
  const auto sizes = t.sizes(), strides = t.strides();
  c10::SmallVector<int64_t, 6> steps;
  int64_t start = 0;
  bool single = true;
  const auto dim = [&](size_t, int64_t count) {
    int64_t size = 1, step = 1;
    for (int64_t axis = start + count; axis-- > start;) {
      if (sizes[axis] == 1) continue;
      if (size == 1) step = strides[axis];
      else single &= strides[axis] == step * size;
      size *= sizes[axis];
    }
    start += count;
    seen.push_back(size);
    steps.push_back(step);
  };
  each_axis(p, bound, dim, [&](int64_t count) { start += count; });
  seen.append(steps.begin(), steps.end());
  return single || t.numel() == 0;
}

template bool bind_ranks(const Plan &, const at::Tensor *const *, Bound<int64_t> &);
template bool bind_ranks(const Plan &, const at::Tensor *const *, Bound<c10::SymInt> &);
template bool bind_groups(const TensorPlan &, const at::Tensor &, Bound<int64_t> &, c10::SmallVectorImpl<int64_t> &);
template bool bind_groups(const TensorPlan &, const at::Tensor &, Bound<c10::SymInt> &,
                          c10::SmallVectorImpl<c10::SymInt> &);

}  // namespace opw
