#include "../block.cuh"

template <class A>
__device__ A log_sum(A a, A b, A c) {
  const A most = max(a, max(b, c)), base = most > -A(INFINITY) ? most : A(0);
  return base + log(exp(a - base) + exp(b - base) + exp(c - base));
}

// What is at place s of a target with blanks around its labels.
inline __device__ int64_t label_at(const int64_t *target, int64_t s, int64_t blank) {
  return s % 2 ? target[s / 2] : blank;
}

// Whether a path may go from place s - 2 to place s.
inline __device__ bool may_skip(const int64_t *target, int64_t s, int64_t places, int64_t blank) {
  if (s < 2 || s >= places) return false;
  const int64_t label = label_at(target, s, blank);
  return label != blank && label != label_at(target, s - 2, blank);
}

// A block has a sequence. A thread has places; the block goes from one time to the next together.
template <class T>
__global__ void ctc_loss_kernel(Tensor<const T, 3> log_probs, Tensor<const int64_t, 2> targets,
                                Tensor<const int64_t, 1> input_lengths, Tensor<const int64_t, 1> target_lengths,
                                int64_t blank, Tensor<T, 1> loss, T *all_alpha) {
  const int64_t n = blockIdx.x, S = log_probs.size(0), row = 2 * targets.size(1) + 1,
                places = 2 * target_lengths[n] + 1;
  const int64_t *const target = targets.data() + n * targets.size(1);
  T *const alpha = all_alpha + n * S * row;
  for (int64_t t = 0; t < S; ++t) {
    for (int64_t s = threadIdx.x; s < row; s += blockDim.x) {
      T value = -INFINITY;
      if (s < places && t < input_lengths[n]) {
        const T *const before = alpha + (t - 1) * row;
        const T here = log_probs(t, n, label_at(target, s, blank));
        if (t == 0) value = s < 2 ? here : T(-INFINITY);
        else
          value = here + log_sum(before[s], s > 0 ? before[s - 1] : T(-INFINITY),
                                 may_skip(target, s, places, blank) ? before[s - 2] : T(-INFINITY));
      }
      alpha[t * row + s] = value;
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const T *const last = alpha + (input_lengths[n] - 1) * row, never = -INFINITY;
  if (input_lengths[n] == 0) loss[n] = places == 1 ? T(0) : T(INFINITY);
  else loss[n] = -log_sum(last[places - 1], places > 1 ? last[places - 2] : never, never);
}

OPWRIGHT(
    "ctc_loss(log_probs: T[S, N, C] in (-inf, 0], targets: i64[N, L] in [0, C), input_lengths: i64[N] in [0, S], "
    "target_lengths: i64[N] in [0, L], blank: int in [0, C) = 0) -> (loss: T[N]; alpha: T[N, S, 2*L + 1]) "
    "where T in (f32, f64) independent N")
template <class T>
void ctc_loss(Tensor<const T, 3> log_probs, Tensor<const int64_t, 2> targets, Tensor<const int64_t, 1> input_lengths,
              Tensor<const int64_t, 1> target_lengths, int64_t blank, Tensor<T, 1> loss, Tensor<T, 3> alpha, int64_t S,
              int64_t N, int64_t L, cudaStream_t stream) {
  if (N == 0) return;
  Workspace<T> memory(alpha ? 0 : N * S * (2 * L + 1), stream);
  ctc_loss_kernel<T><<<N, threads_of(4 * (2 * L + 1)), 0, stream>>>(log_probs, targets, input_lengths, target_lengths,
                                                                    blank, loss, alpha ? alpha.data() : memory.data());
}

// From the end to the beginning. Several places may have one label: they add atomically, so the last digit may differ.
template <class T>
__global__ void ctc_loss_backward_kernel(Tensor<const T, 1> grad_loss, Tensor<const T, 3> log_probs,
                                         Tensor<const int64_t, 2> targets, Tensor<const int64_t, 1> input_lengths,
                                         Tensor<const int64_t, 1> target_lengths, int64_t blank,
                                         Tensor<const T, 1> loss, Tensor<const T, 3> alpha, T *all_after,
                                         Tensor<T, 3> grad_log_probs) {
  const int64_t n = blockIdx.x, row = alpha.size(2), places = 2 * target_lengths[n] + 1, length = input_lengths[n];
  const int64_t *const target = targets.data() + n * targets.size(1);
  const T never = -INFINITY;
  if (isinf(loss[n])) return;  // no path fits
  T *after = all_after + 2 * n * row, *now = after + row;
  for (int64_t t = length - 1; t >= 0; --t) {
    for (int64_t s = threadIdx.x; s < places; s += blockDim.x) {
      T beta = 0;
      if (t < length - 1)
        beta = log_sum(after[s], s + 1 < places ? after[s + 1] : never,
                       may_skip(target, s + 2, places, blank) ? after[s + 2] : never);
      else if (s < places - 2) beta = never;
      const int64_t label = label_at(target, s, blank);
      now[s] = beta + log_probs(t, n, label);
      atomicAdd(&grad_log_probs(t, n, label), -grad_loss[n] * exp(alpha(n, t, s) + beta + loss[n]));
    }
    __syncthreads();
    T *const other = after;
    after = now, now = other;
  }
}

OPWRIGHT(
    "ctc_loss_backward(grad_loss: T[N], log_probs: T[S, N, C], targets: i64[N, L] in [0, C), "
    "input_lengths: i64[N] in [0, S], target_lengths: i64[N] in [0, L], blank: int, loss: T[N], "
    "alpha: T[N, S, 2*L + 1]) -> (grad_log_probs: T[S, N, C]) independent N")
template <class T>
void ctc_loss_backward(Tensor<const T, 1> grad_loss, Tensor<const T, 3> log_probs, Tensor<const int64_t, 2> targets,
                       Tensor<const int64_t, 1> input_lengths, Tensor<const int64_t, 1> target_lengths, int64_t blank,
                       Tensor<const T, 1> loss, Tensor<const T, 3> alpha, Tensor<T, 3> grad_log_probs, int64_t N,
                       int64_t L, cudaStream_t stream) {
  const int64_t n = grad_log_probs.numel(), row = 2 * L + 1;
  if (n == 0) return;
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(grad_log_probs.data(), 0, n * sizeof(T), stream));
  Workspace<T> after(N * 2 * row, stream);
  ctc_loss_backward_kernel<T><<<N, threads_of(4 * row), 0, stream>>>(
      grad_loss, log_probs, targets, input_lengths, target_lengths, blank, loss, alpha, after.data(), grad_log_probs);
}
