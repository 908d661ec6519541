// Plans: which elements are a signal's, and transforms along one axis after the other.
#include <opwright/emulation/forks.h>
#include <opwright/emulation/libraries/fft.h>

#include <algorithm>
#include <map>

#include "transform.h"

namespace opwright::emulation::fft {
namespace {

using Index = long long;

struct Plan {
  bool made = false, packed = false;
  int rank = 0;
  Index sizes[3] = {1, 1, 1}, batch = 0;
  cufftType type = CUFFT_C2C;
  Layout input{}, output{};
  cudaStream_t stream = nullptr;

  bool real_input() const { return type == CUFFT_R2C || type == CUFFT_D2Z; }
  bool real_output() const { return type == CUFFT_C2R || type == CUFFT_Z2D; }
  bool wide() const { return type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D; }
  // Of a real signal only the first half of the last axis is there, where it is complex.
  Index last(bool in) const {
    const Index n = sizes[rank - 1];
    return (in ? real_output() : real_input()) ? n / 2 + 1 : n;
  }
};

// In place, packed real signals have room for their spectrum: each row of n numbers is as long as n / 2 + 1 complex ones.
void pad(Plan *plan) {
  if (!plan->packed || !(plan->real_input() || plan->real_output())) return;
  Layout &layout = plan->real_input() ? plan->input : plan->output;
  layout.embedded[plan->rank - 1] = 2 * (plan->sizes[plan->rank - 1] / 2 + 1);
  layout.distance = 1;
  for (int i = 0; i < plan->rank; ++i) layout.distance *= i + 1 < plan->rank ? plan->sizes[i] : layout.embedded[i];
}

struct Plans {
  Mutex<> mutex;
  std::map<cufftHandle, Plan> all;
  cufftHandle next = 1;
};
Plans &plans() {
  static Lasting<Plans> only;
  return *only;
}
Plan *find(cufftHandle handle) {
  const std::lock_guard lock(plans().mutex);
  const auto found = plans().all.find(handle);
  return found == plans().all.end() ? nullptr : &found->second;
}

// Calls f(offset in memory, index in the dense signal) for every element of a signal; `count` of the last axis.
template <class F> void each(const Plan &plan, const Layout &layout, Index count, F f) {
  Index sizes[3] = {1, 1, 1}, embedded[3] = {1, 1, 1};
  for (int i = 0; i < plan.rank; ++i) {
    sizes[3 - plan.rank + i] = plan.sizes[i];
    embedded[3 - plan.rank + i] = layout.embedded[i];
  }
  const Index whole = sizes[2];
  for (Index x = 0; x < sizes[0]; ++x)
    for (Index y = 0; y < sizes[1]; ++y)
      for (Index z = 0; z < count; ++z)
        f(((x * embedded[1] + y) * embedded[2] + z) * layout.stride, (x * sizes[1] + y) * whole + z);
}

Index extent(const Plan &plan, const Layout &layout, Index count) {
  Index last = 0;
  each(plan, layout, count, [&](Index offset, Index) { last = std::max(last, offset); });
  return last + 1;
}

bool touched(const Plan &plan, const void *memory, bool input, size_t bytes, const Called &called) {
  const Layout &layout = input ? plan.input : plan.output;
  const size_t signal = size_t(extent(plan, layout, plan.last(input))) * bytes;
  const char *name = input ? "the input" : "the output";
  if (layout.stride == 1 && size_t(layout.distance) * bytes >= signal)
    return may_touch(memory, size_t(layout.distance) * bytes, signal, size_t(plan.batch), !input, name, called);
  for (Index at = 0; at < plan.batch; ++at) {  // with gaps, or interleaved: one element after the other
    const char *first = static_cast<const char *>(memory) + size_t(at * layout.distance) * bytes;
    bool fine = true;
    each(plan, layout, plan.last(input), [&](Index offset, Index) {
      fine = fine && may_touch(first + size_t(offset) * bytes, bytes, bytes, 1, !input, name, called);
    });
    if (!fine) return false;
  }
  return true;
}

// The other half of a real signal's spectrum.
void complete(const Plan &plan, std::vector<Complex> *signal) {
  Index sizes[3] = {1, 1, 1};
  for (int i = 0; i < plan.rank; ++i) sizes[3 - plan.rank + i] = plan.sizes[i];
  const auto at = [&](Index x, Index y, Index z) -> Complex & {
    return (*signal)[size_t(((x + sizes[0]) % sizes[0] * sizes[1] + (y + sizes[1]) % sizes[1]) * sizes[2] + z)];
  };
  for (Index x = 0; x < sizes[0]; ++x)
    for (Index y = 0; y < sizes[1]; ++y)
      for (Index z = sizes[2] / 2 + 1; z < sizes[2]; ++z) at(x, y, z) = std::conj(at(-x, -y, sizes[2] - z));
}

void along_axes(const Plan &plan, std::vector<Complex> *signal, bool inverse) {
  const Index total = Index(signal->size());
  Index stride = total;
  for (int axis = 0; axis < plan.rank; ++axis) {
    const Index n = plan.sizes[axis];
    stride /= n;
    std::vector<Complex> line(static_cast<size_t>(n));
    for (Index first = 0; first < total; ++first) {
      if (first / stride % n) continue;
      for (Index i = 0; i < n; ++i) line[size_t(i)] = (*signal)[size_t(first + i * stride)];
      transform(&line, inverse);
      for (Index i = 0; i < n; ++i) (*signal)[size_t(first + i * stride)] = line[size_t(i)];
    }
  }
}

template <class T> void run(const Plan &plan, const void *from, void *to, bool inverse) {
  Index total = 1;
  for (int i = 0; i < plan.rank; ++i) total *= plan.sizes[i];
  std::vector<std::vector<Complex>> signals(static_cast<size_t>(plan.batch),
                                            std::vector<Complex>(static_cast<size_t>(total)));
  for (Index b = 0; b < plan.batch; ++b) {  // all are read before any is written: they may lie in one place
    std::vector<Complex> &signal = signals[size_t(b)];
    const Index first = b * plan.input.distance;
    each(plan, plan.input, plan.last(true), [&](Index offset, Index at) {
      if (plan.real_input()) signal[size_t(at)] = static_cast<const T *>(from)[first + offset];
      else signal[size_t(at)] = static_cast<const std::complex<T> *>(from)[first + offset];
    });
    if (plan.real_output()) complete(plan, &signal);
    along_axes(plan, &signal, inverse);
  }
  for (Index b = 0; b < plan.batch; ++b)
    each(plan, plan.output, plan.last(false), [&](Index offset, Index at) {
      const Complex value = signals[size_t(b)][size_t(at)];
      const Index place = b * plan.output.distance + offset;
      if (plan.real_output()) static_cast<T *>(to)[place] = T(value.real());
      else static_cast<std::complex<T> *>(to)[place] = std::complex<T>(value);
    });
}

}  // namespace

cufftResult create(cufftHandle *handle) {
  if (!handle) return CUFFT_INVALID_VALUE;
  const std::lock_guard lock(plans().mutex);
  *handle = plans().next++;
  plans().all[*handle];
  return CUFFT_SUCCESS;
}

cufftResult plan(cufftHandle handle, int rank, const long long *sizes, const Layout *input, const Layout *output,
                 cufftType type, long long batch) {
  Plan *made = find(handle);
  if (!made) return CUFFT_INVALID_PLAN;
  if (type != CUFFT_C2C && type != CUFFT_R2C && type != CUFFT_C2R && type != CUFFT_Z2Z && type != CUFFT_D2Z &&
      type != CUFFT_Z2D)
    return CUFFT_INVALID_TYPE;
  if (batch < 1 || std::any_of(sizes, sizes + rank, [](long long n) { return n < 1; })) return CUFFT_INVALID_SIZE;
  made->packed = !input, made->rank = rank, made->type = type, made->batch = batch;
  std::copy(sizes, sizes + rank, made->sizes);
  for (const bool in : {true, false}) {
    Layout &layout = in ? made->input : made->output;
    const Layout *given = in ? input : output;
    if (given) {
      layout = *given;
      if (layout.stride < 1 || layout.distance < 0) return CUFFT_INVALID_VALUE;
      for (int i = 1; i < rank; ++i)
        if (layout.embedded[i] < (i + 1 < rank ? sizes[i] : made->last(in))) return CUFFT_INVALID_VALUE;
      continue;
    }
    layout = {{}, 1, 1};
    for (int i = 0; i < rank; ++i) {
      layout.embedded[i] = i + 1 < rank ? sizes[i] : made->last(in);
      layout.distance *= layout.embedded[i];
    }
  }
  made->made = true;
  return CUFFT_SUCCESS;
}

cufftResult destroy(cufftHandle handle, const Called &called) {
  const std::lock_guard lock(plans().mutex);
  if (plans().all.erase(handle)) return CUFFT_SUCCESS;
  note(cudaErrorInvalidResourceHandle, called, "the plan isn't one of cufftCreate or cufftPlan, or was destroyed");
  return CUFFT_INVALID_PLAN;
}

cufftResult stream(cufftHandle handle, cudaStream_t value, const Called &) {
  Plan *plan = find(handle);
  if (!plan) return CUFFT_INVALID_PLAN;
  plan->stream = value;
  return CUFFT_SUCCESS;
}

cufftResult execute(cufftHandle handle, cufftType type, const void *from, void *to, bool inverse, Called called) {
  const Plan *found = find(handle);
  if (!found || !found->made) {
    note(cudaErrorInvalidResourceHandle, called, "the plan isn't one of cufftMakePlan or cufftPlan, or was destroyed");
    return CUFFT_INVALID_PLAN;
  }
  if (type != found->type) return CUFFT_INVALID_TYPE;
  if (!from || !to) return CUFFT_INVALID_VALUE;
  Plan copied = *found;
  if (from == to) pad(&copied);
  const Plan *const plan = &copied;
  called.stream = plan->stream, called.async = true;
  const size_t part = plan->wide() ? 8 : 4;
  if (!touched(*plan, from, true, plan->real_input() ? part : 2 * part, called) ||
      !touched(*plan, to, false, plan->real_output() ? part : 2 * part, called))
    return CUFFT_EXEC_FAILED;
  if (plan->wide()) run<double>(*plan, from, to, inverse);
  else run<float>(*plan, from, to, inverse);
  return CUFFT_SUCCESS;
}

}  // namespace opwright::emulation::fft
