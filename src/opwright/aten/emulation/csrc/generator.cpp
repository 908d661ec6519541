// CUDA's generator: a seed and an offset, as on a GPU. PyTorch's operators draw other numbers from it than on a GPU;
// kernels that draw by Philox draw the same.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <cstring>

#include "device.h"

namespace at {

CUDAGeneratorImpl::CUDAGeneratorImpl(DeviceIndex index)
    : CUDAGeneratorImpl(index, c10::make_intrusive<CUDAGeneratorState>()) {}

CUDAGeneratorImpl::CUDAGeneratorImpl(DeviceIndex, c10::intrusive_ptr<CUDAGeneratorState> state)
    : GeneratorImpl(opwright::device::cuda, DispatchKeySet(DispatchKey::CUDA)), state_(std::move(state)) {
  no_reset_rnn_state_.clear();
}

void CUDAGeneratorImpl::set_current_seed(uint64_t seed) {
  state_->seed_ = seed;
  state_->philox_offset_per_thread_ = 0;
  no_reset_rnn_state_.clear();
}
void CUDAGeneratorImpl::set_offset(uint64_t offset) { state_->philox_offset_per_thread_ = offset; }
uint64_t CUDAGeneratorImpl::get_offset() const { return state_->philox_offset_per_thread_; }
uint64_t CUDAGeneratorImpl::current_seed() const { return state_->seed_; }
uint64_t CUDAGeneratorImpl::seed() {
  set_current_seed(c10::detail::getNonDeterministicRandom(true));
  return state_->seed_;
}

// The state is 16 bytes, as on a GPU: the seed, and the offset.
c10::intrusive_ptr<c10::TensorImpl> CUDAGeneratorImpl::get_state() const {
  const uint64_t words[] = {state_->seed_, state_->philox_offset_per_thread_};
  Tensor state = at::empty({sizeof words}, kByte);
  std::memcpy(state.mutable_data_ptr(), words, sizeof words);
  return state.getIntrusivePtr();
}
void CUDAGeneratorImpl::set_state(const c10::TensorImpl &state) {
  uint64_t words[2] = {};
  TORCH_CHECK(state.numel() == 16 || state.numel() == 8, "RNG state is wrong size");
  std::memcpy(words, state.data(), size_t(state.numel()));
  state_->seed_ = words[0], state_->philox_offset_per_thread_ = words[1];
}
void CUDAGeneratorImpl::graphsafe_set_state(const c10::intrusive_ptr<GeneratorImpl> &other) {
  state_ = static_cast<CUDAGeneratorImpl *>(other.get())->state_;
}
c10::intrusive_ptr<c10::GeneratorImpl> CUDAGeneratorImpl::graphsafe_get_state() const {
  return c10::make_intrusive<CUDAGeneratorImpl>(DeviceIndex(0), state_);
}

void CUDAGeneratorImpl::set_philox_offset_per_thread(uint64_t offset) { set_offset(offset); }
uint64_t CUDAGeneratorImpl::philox_offset_per_thread() const { return get_offset(); }

// A thread draws four numbers at a time.
PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(uint64_t increment) {
  const uint64_t offset = state_->philox_offset_per_thread_;
  state_->philox_offset_per_thread_ += (increment + 3) / 4 * 4;
  return {state_->seed_, offset};
}
std::pair<uint64_t, uint64_t> CUDAGeneratorImpl::philox_engine_inputs(uint64_t increment) {
  const uint64_t offset = state_->philox_offset_per_thread_;
  philox_cuda_state(increment);
  return {state_->seed_, offset};
}

DeviceType CUDAGeneratorImpl::device_type() { return kCUDA; }
std::shared_ptr<CUDAGeneratorImpl> CUDAGeneratorImpl::clone() const {
  return std::shared_ptr<CUDAGeneratorImpl>(clone_impl());
}
CUDAGeneratorImpl *CUDAGeneratorImpl::clone_impl() const {
  return new CUDAGeneratorImpl(
      0, c10::make_intrusive<CUDAGeneratorState>(state_->seed_, state_->philox_offset_per_thread_));
}

namespace cuda::detail {

const Generator &getDefaultCUDAGenerator(DeviceIndex) {
  static const Generator generator = createCUDAGenerator();
  return generator;
}
Generator createCUDAGenerator(DeviceIndex) { return make_generator<CUDAGeneratorImpl>(DeviceIndex(0)); }

}  // namespace cuda::detail
}  // namespace at

namespace opwright {
namespace device {

const at::Generator &default_generator() { return at::cuda::detail::getDefaultCUDAGenerator(); }
at::Generator new_generator() { return at::cuda::detail::createCUDAGenerator(); }

at::Generator of_the_cpu(const at::Generator &generator) {
  auto *state = static_cast<at::CUDAGeneratorImpl *>(generator.unsafeGetGeneratorImpl());
  const std::lock_guard<std::mutex> lock(state->mutex_);
  const auto [seed, offset] = state->philox_engine_inputs(4);
  return at::detail::createCPUGenerator(seed ^ offset * 0x9e3779b97f4a7c15u);
}

}  // namespace device
}  // namespace opwright
