// The tensors of one call as a kernel sees them, and what is done to them before and after it.
// loop_frame.h has the same for kernels that broadcast.
#pragma once
#include <ATen/core/LegacyTypeDispatch.h>

#include "call/operator.h"

namespace opw {

class Frame {
 public:
  Frame(const Operator &op, const Call &call, const Bound<int64_t> &bound, at::Tensor *outputs)
      : op_(op), call_(call), bound_(bound), outputs_(outputs) {}

  void add_tensors(const opw_kernel &kernel) {
    add_inputs(kernel);
    add_outputs();
  }
  void enter(const opw_kernel &kernel);
  void finish();  // after the kernel: copies mutated inputs back, cuts bounded results

 protected:
  void add_inputs(const opw_kernel &kernel);
  void add_outputs() { add_outputs(*this); }
  // The strides of a result of these sizes; none: row-major.
  c10::OptionalIntArrayRef result_strides(c10::IntArrayRef) { return std::nullopt; }
  // `layout`: the frame, of which class exactly, whose result_strides hold.
  template <class F>
  void add_outputs(F &layout);
  // The tensor that the kernel gets instead of an input: what `copy` makes. Copied back, if it is overwritten.
  template <class F>
  const at::Tensor *hold(size_t input, const char *what, F copy);
  bool is_wanted(size_t output) const {
    return output < op_.returns() && ((call_.wanted >> plan(output).parameter) & 1);
  }
  const TensorPlan &plan(size_t output) const { return op_.plan.outputs[output]; }
  [[noreturn]] void refuse_result(size_t output, c10::IntArrayRef sizes, const c10::Error &error) const;
  // The memory that the caller gives for a result of these sizes, if it can be written to where it is.
  const at::Tensor *given(size_t output, c10::IntArrayRef sizes) const;
  at::Tensor allocate(size_t output, c10::IntArrayRef sizes, c10::OptionalIntArrayRef strides = std::nullopt) const;
  at::Tensor allocate_seen(size_t output, c10::IntArrayRef sizes) const;  // of these sizes as the kernel sees it

  opw_tensor folded(opw_tensor seen, const at::Tensor &t, const TensorPlan &p);

  const Operator &op_;
  const Call &call_;
  const Bound<int64_t> &bound_;
  at::Tensor *outputs_;
  c10::SmallVector<opw_tensor, 12> tensors_;
  c10::SmallVector<opw_tensor, 1> packed_;  // where there are lists: what the kernel gets

 private:
  // A result with axes whose length the kernel decides, or one that nobody wants and the kernel writes all the same.
  struct Decided {
    size_t output;
    bool bounded;
    bool given;  // all its lengths are
    bool resized = false;
    at::Tensor unwanted;                 // its memory, where nobody wants it
    c10::SmallVector<int64_t, 6> sizes;  // as the kernel sees them
    c10::SmallVector<int64_t, 6> strides;
  };
  struct CopyBack {
    const at::Tensor *to;
    size_t from;  // in held_
  };

  void pack();
  size_t index_of(size_t parameter) const;
  opw_tensor add_decided(size_t output);
  at::Tensor &memory(Decided &decided);
  int32_t provide(size_t parameter);
  int32_t resize(int64_t parameter, const int64_t *lengths);
  int32_t decide(const Decided &decided, const int64_t *lengths);
  void cut(const Decided &decided);

  c10::SmallVector<at::Tensor, 4> held_;  // copies
  c10::SmallVector<CopyBack, 2> back_;
  std::vector<Decided> decided_;
  std::vector<int64_t> lengths_;                       // of the decided axes, -1 where they aren't yet
  std::vector<c10::SmallVector<int64_t, 12>> folded_;  // sizes and strides of tensors with groups of axes
};

// An absent tensor, and one as it is. What the kernel writes is asked for as such: a lazy copy (torch._lazy_clone) becomes
// a real one by that.
opw_tensor absent();
opw_tensor view(const at::Tensor &t, bool written);
// Whether every element is at a multiple of its size, as C++ takes it to be (torch.frombuffer doesn't care).
inline bool is_aligned(const void *data, size_t element_size) {
  return (reinterpret_cast<uintptr_t>(data) & (element_size - 1)) == 0;
}
bool is_aligned(const at::Tensor &t);
// A copy of complex numbers that aren't aligned, which PyTorch's own functions can't read without a crash.
at::Tensor readable(const at::Tensor &t);

template <class F>
void Frame::add_outputs(F &layout) {
  c10::SmallVector<int64_t, 8> sizes;
  if (C10_UNLIKELY(op_.plan.decided)) {
    lengths_.assign(op_.plan.decided, -1);
    decided_.reserve(op_.plan.outputs.size());  // none may move: the kernel sees their sizes
  }
  for (size_t i = 0; i < op_.plan.outputs.size(); ++i) {
    const bool wanted = is_wanted(i);
    if (C10_UNLIKELY(plan(i).is_decided()) && wanted) {
      tensors_.push_back(add_decided(i));
    } else if (!wanted) {
      tensors_.push_back(absent());
    } else {
      if (!output_sizes(plan(i), bound_, sizes)) explain(op_, call_);
      if (C10_UNLIKELY(plan(i).grouped)) {
        c10::SmallVector<int64_t, 8> seen(sizes);
        spread(plan(i), bound_, seen, sizes);
      }
      outputs_[i] = allocate(i, sizes, layout.result_strides(sizes));
      const opw_tensor seen = view(outputs_[i], true);
      tensors_.push_back(C10_UNLIKELY(plan(i).grouped) ? folded(seen, outputs_[i], plan(i)) : seen);
    }
  }
}

template <class F>
const at::Tensor *Frame::hold(size_t input, const char *what, F copy) {
  const at::Tensor &t = *call_.inputs[input];
  at::AutoDispatchBelowADInplaceOrView guard;
  held_.reserve(call_.inputs.size());  // no copy may move: the kernel's tensors point into it
  if (op_.plan.inputs[input].mutated) back_.push_back({&t, held_.size()});
  try {
    held_.push_back(copy(readable(t)));
  } catch (const c10::Error &error) {
    refuse_memory(op_, what + argument_name(op_, input), t.sizes(), t.scalar_type(), error);
  }
  return &held_.back();
}

}  // namespace opw
